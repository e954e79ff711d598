// Owns: proof that editors and the reference page are told what the loader checks.
// Refuses: a second list of keys.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { haftYamlSchema, renderHaftYamlReference } from '../scripts/haft-yaml-page.ts';
import { checkPolicyText, HAFT_YAML } from '../src/loader/haft-yaml/check-policy.ts';
import { createReport } from '../src/loader/yaml/report.ts';

interface Schema {
  readonly properties: { readonly [key: string]: Schema };
  readonly items: Schema;
  readonly anyOf: readonly Schema[];
  readonly [keyword: string]: unknown;
}

describe('haftYamlSchema', () => {
  it('has every section of the table and refuses other keys', () => {
    const schema = haftYamlSchema() as unknown as Schema;
    assert.deepEqual(Object.keys(schema.properties), Object.keys(HAFT_YAML.keys));
    assert.equal(schema.additionalProperties, false);
    assert.deepEqual(schema.required, ['version']);
    assert.deepEqual(schema.properties.version, { description: 'The version of this format.', const: 1 });
  });

  it('describes lists, short forms, numbers and entries that must say something', () => {
    const { properties } = haftYamlSchema() as unknown as Schema;
    const [text, map] = properties.shell_allow?.items.anyOf ?? [];
    assert.equal(text?.type, 'string');
    assert.deepEqual(map?.required, ['pattern']);
    const timeout = properties.limits?.properties.timeout_ms;
    assert.deepEqual([timeout?.type, timeout?.minimum], ['integer', 1]);
    const pathRule = properties.paths?.properties.rules?.items;
    assert.deepEqual(pathRule?.anyOf, [{ required: ['read'] }, { required: ['write'] }]);
  });
});

describe('haftYamlSchema and the loader', () => {
  it('agree on what a file may hold', async () => {
    const { Ajv2020 } = await import('ajv/dist/2020.js');
    const fits = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false }).compile(
      haftYamlSchema() as object,
    );
    const FILES: readonly [text: string, good: boolean][] = [
      ['version: 1\nshell_allow: [^a, {pattern: ^b, decision: ask}]\npacks: [a, {mcp: {}}]\n', true],
      ['version: 1\npaths: {rules: [{path: a, read: deny}]}\n', true],
      ['version: 2\n', false],
      ['version: 1\ntols: {}\n', false],
      ['version: 1\npaths: {rules: [{path: a}]}\n', false],
      ['version: 1\nlimits: {timeout_ms: 0}\n', false],
      ['version: 1\ntools: {default: never}\n', false],
      ['version: 1\nshell_allow: [{decision: ask}]\n', false],
      ['version: 1\ngit: {allow_push: 1}\n', false],
    ];
    for (const [text, good] of FILES) {
      const report = createReport('haft.yaml');
      await checkPolicyText(text, report);
      assert.equal(!report.failed, good, text);
      assert.equal(fits(parse(text)), good, text);
    }
  });
});

describe('renderHaftYamlReference', () => {
  const page = renderHaftYamlReference();

  it('has a heading for every section and a row for every key', () => {
    for (const key of Object.keys(HAFT_YAML.keys)) assert.ok(page.includes(`## \`${key}\``), key);
    for (const key of ['tools.rules[].paths', 'paths.rules[].write', 'network.allowed_domains[].private']) {
      assert.ok(page.includes(`| \`${key}\` |`), key);
    }
  });

  it('shows an example that loads without a word', async () => {
    const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    const report = createReport('haft.yaml');
    await checkPolicyText(example, report);
    assert.deepEqual(report.diagnostics(), []);
    assert.ok(example.includes('shell_allow'));
  });
});
