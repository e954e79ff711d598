// Owns: proof that no text whatever makes the loader crash: it answers with a policy or with diagnostics.
// Refuses: what the diagnostics say.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { createReport } from '../yaml/report.ts';
import { checkPolicyObject, checkPolicyText } from './check-policy.ts';

const SEED = `version: 1
network:
  allowed_domains: ["*.example.org", {domain: localhost:8080, private: true, examples: {allow: ["http://localhost:8080"]}}]
shell_allow:
  - '^cargo(\\s|$)'
  - {pattern: "^npm (run|test)", decision: ask, examples: {deny: ["npm test"]}}
tools:
  default: allow
  rules:
    - &one {tool: "file_*", decision: deny, paths: ["a/**", "{b,c}/[x-z]?"], examples: {deny: [file_read a/b]}}
    - *one
paths:
  rules:
    - path: '**/.env'
      read: deny
      examples: {deny: [.env, 'read: x/.env'], allow: [src/a]}
limits: {timeout_ms: 1000}
packs: [./packs, {mcp: {command: [x, 'y']}}]
validators:
  - {rule: secrets.scan, enforcement: blocking}
`;

const SNIPPETS = [
  '\t',
  '"',
  "'",
  '*',
  '&a ',
  '!x ',
  '{',
  '}',
  '[',
  ']',
  ': ',
  '- ',
  '\n',
  '---\n',
  '\\s',
  '\u0000',
  '#',
  '|',
  '>',
  '? ',
  '%',
  '~',
  '.nan',
  '1e999',
  '\ud800',
  '\r',
  '\u2028',
  '__proto__: ',
  '<<: *one',
  '(',
  '**',
];

/** One edit of the text: what is cut out, where, and what is put there. */
const edit = fc.record({
  at: fc.nat(SEED.length),
  cut: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(80)),
  put: fc.oneof(fc.constant(''), fc.constantFrom(...SNIPPETS), fc.string({ unit: 'binary', maxLength: 4 })),
});

describe('loading whatever text', () => {
  it('answers 2,000 mutated files with diagnostics, and never throws', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 6 }), async (edits) => {
        const text = edits.reduce(
          (whole, { at, cut, put }) => whole.slice(0, at) + put + whole.slice(at + cut),
          SEED,
        );
        const report = createReport('haft.yaml');
        const checked = await checkPolicyText(text, report);
        if (!checked) assert.ok(report.failed, 'no policy and no reason');
        for (const { line, column, message } of report.diagnostics()) {
          assert.ok(line >= 1 && column >= 1, `${line}:${column}`);
          assert.ok(message.length > 0);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('answers any object with diagnostics, and never throws', async () => {
    const key = fc.constantFrom(
      'version',
      'tools',
      'rules',
      'paths',
      'path',
      'tool',
      'decision',
      'read',
      'examples',
      'allow',
      'shell_allow',
      'network',
      'allowed_domains',
      'packs',
      '__proto__',
      'x',
    );
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(1, 'deny', '**', '^a', 'a.b', '', null, true, Number.NaN, undefined),
        fc.anything({ maxDepth: 1 }),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      ),
    })).value;
    await fc.assert(
      fc.asyncProperty(value, async (object) => {
        const { value: policy, diagnostics } = await checkPolicyObject(object);
        assert.equal(
          policy === undefined,
          diagnostics.some(({ severity }) => severity === 'error'),
        );
      }),
      { numRuns: 500 },
    );
  });
});
