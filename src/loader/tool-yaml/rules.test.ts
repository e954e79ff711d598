// Owns: every rule of a manifest: what it takes, what it refuses, in which words, and at which place.
// Refuses: files and links (confinement.test.ts) and references between schemas (references.test.ts).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';
import { makePack, manifest } from './pack-for-tests.ts';
import type { Refused, Rule } from './rule-for-tests.ts';
import { RULES } from './rules-for-tests.ts';
import { ToolpackLoader } from './toolpack-loader.ts';
import type { ToolpackValidationError } from './toolpack-validation-error.ts';

const MARK = '¦';

/** Loads one manifest; answers with the tool, where there is one, and with all that was said. */
async function load(text: string): Promise<{ tool: YamlTool | undefined; said: readonly Diagnostic[] }> {
  const loader = new ToolpackLoader();
  const folder = makePack({ 'a.tool.yaml': text, 'run.py': '', 'run.mjs': '', 'run.php': '', 'bin/run': '' });
  try {
    const { diagnostics } = await loader.loadDir(folder);
    return { tool: loader.list()[0], said: diagnostics };
  } catch (thrown) {
    assert.equal((thrown as Error).name, 'ToolpackValidationError');
    assert.deepEqual(loader.list(), []);
    return { tool: undefined, said: (thrown as ToolpackValidationError).diagnostics };
  }
}

/** The line and the column of the mark. */
function placeOfMark(text: string): { readonly line: number; readonly column: number } {
  const lines = text.slice(0, text.indexOf(MARK)).split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}

const show = (said: readonly Diagnostic[]) =>
  said
    .map((one) => `${one.line}:${one.column} ${one.severity} ${one.code} ${one.message} [${one.hint}]`)
    .join('\n');

async function assertRefused(
  { code }: Rule,
  { text, says, hint, code: own, warning }: Refused,
): Promise<void> {
  const marked = typeof text === 'string' ? text : manifest(text);
  assert.ok(marked.includes(MARK), 'the case marks no place');
  const { tool, said } = await load(marked.replace(MARK, ''));
  const { line, column } = placeOfMark(marked);
  const one = said.find((d) => d.code === (own ?? code) && d.line === line && d.column === column);
  assert.ok(one, `${line}:${column} ${own ?? code} is not among\n${show(said)}`);
  assert.equal(one.file, 'a.tool.yaml');
  assert.equal(one.severity, warning ? 'warning' : 'error');
  assert.equal(tool === undefined, !warning);
  assert.ok(one.message.includes(says), show(said));
  if (hint) assert.ok(one.hint?.includes(hint), show(said));
  assert.equal(said.length, 1, `more was said\n${show(said)}`);
}

describe('the rules of a manifest', () => {
  for (const [name, rule] of Object.entries(RULES)) {
    describe(name, () => {
      for (const [at, text] of rule.takes.entries()) {
        it(`takes ${at + 1}: ${JSON.stringify(text).slice(0, 100)}`, async () => {
          const { tool, said } = await load(typeof text === 'string' ? text : manifest(text));
          assert.deepEqual(said, [], show(said));
          assert.ok(tool);
        });
      }
      for (const refused of rule.refuses) {
        it(`refuses ${JSON.stringify(refused.text).slice(0, 100)}`, () => assertRefused(rule, refused));
      }
    });
  }

  it('are all told at once, in the order of the file', async () => {
    const { said } = await load(
      manifest({ id: 'One', timeoutMs: 'true', version: '1', colour: 'red', caps: '{ network: [ftp] }' }),
    );
    assert.deepEqual(
      said.map(({ line, code }) => `${line} ${code}`),
      ['1 id.invalid', '2 version.invalid', '4 timeout.invalid', '9 key.unknown', '10 caps.network'],
    );
  });

  it('have each a code of their own', () => {
    const codes = Object.values(RULES).flatMap((rule) => [
      rule.code,
      ...rule.refuses.flatMap(({ code }) => code ?? []),
    ]);
    for (const code of codes) assert.match(code, /^[a-z_]+\.[a-z_]+$/);
    assert.ok(new Set(codes).size >= 45, `${new Set(codes).size} codes`);
  });
});
