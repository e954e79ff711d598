// Owns: proof that no manifest whatever makes the loader crash: it answers with a tool or with diagnostics.
// Refuses: what the diagnostics say.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatDiagnostic } from '../../contract/diagnostic.ts';
import { makePack, manifest } from './pack-for-tests.ts';
import { ToolpackLoader } from './toolpack-loader.ts';

const MUTANTS = 10_000;
const SEED = 0x5eed;

const FULL = `id: demo.full
version: 1.2.3-rc.1
name: A full one
description: >-
  Everything that
  a manifest can say.
tags: [a, b]
deterministic: true
idempotent: true
mutates: true
timeoutMs: 1000
limits: { maxInputBytes: 100, maxOutputBytes: 200 }
inputSchema:
  $schema: https://json-schema.org/draft/2020-12/schema
  type: object
  properties:
    a: { $ref: schemas/in.json#/$defs/text }
    b: { type: [string, "null"], pattern: '^[a-z]+$' }
    tree: { $ref: '#/$defs/node' }
  $defs:
    node: { properties: { next: { $ref: '#/$defs/node' } } }
outputSchema: { $ref: ./schemas/out.yaml }
execution:
  kind: http
  url: https://example.org/{{ input.a }}
  method: POST
  headers: { X-A: "{{ env.A }}" }
  body: { a: ["{{ input.b }}", 1, null] }
caps:
  network: [https]
  filesystem: { read: [data], write: [out] }
  subprocess: false
env: { passthrough: [LANG], set: { A: "x" } }
templating: { engine: jinja2, context: { c: [1, { d: 2 }] }, cacheKey: '{{ input.a }}' }
credentials:
  github: { scope: user, env: { GITHUB_TOKEN: token }, headers: { Authorization: 'Bearer {{ token }}' } }
config: { type: object, properties: { base: { type: string } } }
retry: { attempts: 3, delayMs: 100, maxDelayMs: 1000, factor: 1.5, onStatus: [429] }
health: { strategy: connection, intervalMs: 5000 }
actions:
  read: { description: Reads, mutates: false, execution: { method: GET, url: 'https://example.org/r' } }
`;

const PROGRAM = manifest({
  execution: "{ kind: python, module: 'lib.mod:run', warm: true }",
  actions: '\n  go: { execution: { script: lib/mod.py, warm: false } }',
});

const PIECES = [
  '\t',
  '"',
  "'",
  '*',
  '*x',
  '&x ',
  '!x ',
  '!!binary ',
  '{',
  '}',
  '[',
  ']',
  ': ',
  ':',
  '- ',
  '\n',
  '\n\n',
  '---\n',
  '\\',
  '\u0000',
  '#',
  '|',
  '>',
  '? ',
  '%',
  '~',
  '.nan',
  '.inf',
  '1e999',
  '-1',
  '99999999999999999999',
  '\r',
  '\u2028',
  '__proto__: ',
  '<<: *x',
  '{{',
  '$ref: ',
  '$ref: "#"',
  '$ref: ../../x',
  '$id: ',
  '$anchor: a',
  '$dynamicRef: "#a"',
  'constructor: ',
  'toString: {}',
  'null',
  'true',
  '🙂',
  '%2e%2e/',
  'kind: cli',
  'kind: [',
  ' '.repeat(40),
];

/** The same numbers in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

function mutate(text: string, random: (below: number) => number): string {
  let mutant = text;
  for (let edits = 1 + random(4); edits > 0; edits--) {
    const lines = mutant.split('\n');
    const at = random(mutant.length + 1);
    const line = random(lines.length);
    const kind = random(5);
    if (kind === 0) mutant = lines.toSpliced(line, 1).join('\n');
    else if (kind === 1) mutant = lines.toSpliced(line, 0, lines[random(lines.length)] as string).join('\n');
    else if (kind === 2) mutant = mutant.slice(0, at) + mutant.slice(at + 1 + random(30));
    else mutant = mutant.slice(0, at) + PIECES[random(PIECES.length)] + mutant.slice(at + random(3));
  }
  return mutant;
}

describe('loading whatever manifest', () => {
  it(`answers ${MUTANTS.toLocaleString('en')} mutants with tools or diagnostics, and never crashes`, async () => {
    const random = createRandom(SEED);
    const files: { [path: string]: string } = {
      'schemas/in.json': '{"$defs": {"text": {"type": "string"}}}',
      'schemas/out.yaml': 'type: object\n',
      'lib/mod.py': '',
    };
    for (let i = 0; i < MUTANTS; i++)
      files[`m${i}.tool.yaml`] = mutate(random(3) === 0 ? PROGRAM : FULL, random);
    const loader = new ToolpackLoader({ quarantine: true });
    const { tools, diagnostics } = await loader.loadDir(makePack(files));
    const wrong = new Set(diagnostics.filter(({ severity }) => severity === 'error').map(({ file }) => file));
    assert.ok(wrong.size > MUTANTS / 2, `${wrong.size} were refused`);
    for (const one of diagnostics) {
      assert.ok(one.line >= 1 && one.column >= 1, formatDiagnostic(one));
      assert.match(one.code, /^[a-z_]+\.[a-z_]+$/);
      assert.ok(one.message.length > 0);
      const lines = (files[one.file] ?? '').split(/\r\n|\r|\n/);
      assert.ok(one.line <= lines.length + 1, formatDiagnostic(one));
    }
    // Mutants that are still right have mostly the same id, and none of those that share one is loaded.
    assert.equal(loader.list().length, tools);
    const silent = Object.keys(files).filter((path) => path.endsWith('.tool.yaml') && !wrong.has(path));
    assert.ok(silent.length < MUTANTS / 2);
    assert.ok(!diagnostics.some(({ code }) => code === 'internal.unexpected'));
  });
});
