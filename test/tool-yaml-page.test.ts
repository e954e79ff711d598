// Owns: that the page and the schema for editors say what the loader does.
// Refuses: wording.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { renderToolYamlReference, toolYamlSchema } from '../scripts/tool-yaml-page.ts';
import { makePack, manifest } from '../src/loader/tool-yaml/pack-for-tests.ts';
import { RULES } from '../src/loader/tool-yaml/rules-for-tests.ts';
import { TOOL_YAML } from '../src/loader/tool-yaml/tool-yaml-shape.ts';
import { ToolpackLoader } from '../src/loader/tool-yaml/toolpack-loader.ts';

const textOf = (text: string | { readonly [key: string]: string | null }) =>
  (typeof text === 'string' ? text : manifest(text)).replace('¦', '').replace(/^\ufeff/, '');

describe('the reference page', () => {
  const page = renderToolYamlReference();

  it('has a heading for every key, and a row for every key below', () => {
    for (const key of Object.keys(TOOL_YAML.keys)) assert.ok(page.includes(`## \`${key}\``), key);
    for (const key of [
      'limits.maxInputBytes',
      'execution.kind',
      'caps.filesystem.write',
      'credentials.PROVIDER.env',
      'actions.NAME.execution',
    ]) {
      assert.ok(page.includes(`| \`${key}\``), key);
    }
    assert.ok(page.includes('| `execution.module` (python) |'));
  });

  it('shows an example that loads without a word', async () => {
    const [yaml = '', python = ''] = [/```yaml\n([\s\S]*?)```/, /```python\n([\s\S]*?)```/].map(
      (block) => block.exec(page)?.[1],
    );
    const loader = new ToolpackLoader();
    const { diagnostics } = await loader.loadDir(makePack({ 'count.tool.yaml': yaml, 'count.py': python }));
    assert.deepEqual(diagnostics, []);
    assert.equal(loader.get('text.count').source.scripts[0]?.path, 'count.py');
  });
});

describe('the schema for editors', () => {
  const fits = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false }).compile(
    toolYamlSchema() as object,
  );

  it('takes every manifest that the loader takes', () => {
    for (const { takes } of Object.values(RULES)) {
      for (const text of takes)
        assert.ok(fits(parse(textOf(text))), `${textOf(text)}\n${JSON.stringify(fits.errors)}`);
    }
  });

  it('refuses what is wrong by its form alone', () => {
    const rules = [
      'required keys',
      'no other keys',
      'keys in camelCase',
      'id',
      'deterministic',
      'timeoutMs',
      'execution.kind',
      'caps.subprocess',
    ];
    for (const name of rules) {
      for (const { text } of RULES[name]?.refuses ?? []) {
        const value: unknown = parse(textOf(text));
        // These two a schema cannot count or see.
        if (JSON.stringify(value).includes('bbbbbbbb') || textOf(text).includes('__proto__')) continue;
        assert.ok(!fits(value), textOf(text));
      }
    }
  });
});
