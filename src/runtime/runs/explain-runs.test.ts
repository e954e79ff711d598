import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../contract/json.ts';
import { explainRuns } from './create-runs.ts';

const BASE: JsonObject = {
  tool: 'text_stats',
  contractVersion: 'v1',
  policyHash: 'p',
  paramsHash: 'h',
  params: {
    toolpack: 'code',
    params: { unit: 'word', deep: { a: 1 } },
    image: 'sha256:1',
    argv: ['wc', '-w', 'in/text'],
    env: { A: '1' },
    inputs: [
      { role: 'text', digest: 'sha256:t', size: 3, dest: 'text' },
      { role: 'words', digest: 'sha256:w', size: 4, dest: 'words' },
    ],
    outputs: [{ role: 'stats', type: 'text/plain', label: 'Counts', src: 'stats' }],
  },
};
const params = BASE.params as JsonObject;
const withParams = (fields: JsonObject): JsonObject => ({ ...BASE, params: { ...params, ...fields } });
const [text, words] = params.inputs as [JsonObject, JsonObject];

const CASES: readonly [
  what: string,
  other: JsonObject,
  field: string,
  path: string,
  a: unknown,
  b: unknown,
][] = [
  ['the tool', { ...BASE, tool: 'x' }, 'tool', '/tool', 'text_stats', 'x'],
  ['the contract', { ...BASE, contractVersion: 'v2' }, 'contract version', '/contractVersion', 'v1', 'v2'],
  ['the policy', { ...BASE, policyHash: 'q' }, 'policy for this tool', '/policyHash', 'p', 'q'],
  ['the code', withParams({ toolpack: 'other' }), "toolpack's code", '/params/toolpack', 'code', 'other'],
  ['the image', withParams({ image: 'sha256:2' }), 'image', '/params/image', 'sha256:1', 'sha256:2'],
  ['an argument', withParams({ argv: ['wc', '-l', 'in/text'] }), 'argument 1', '/params/argv/1', '-w', '-l'],
  [
    'an argument too many',
    withParams({ argv: ['wc', '-w', 'in/text', 'x'] }),
    'argument 3',
    '/params/argv/3',
    undefined,
    'x',
  ],
  ['a variable', withParams({ env: {} }), 'variable A', '/params/env/A', '1', undefined],
  [
    'one byte of an input',
    withParams({ inputs: [{ ...text, digest: 'sha256:u' }, words] }),
    'input text.digest',
    '/params/inputs/text/digest',
    'sha256:t',
    'sha256:u',
  ],
  [
    'a parameter',
    withParams({ params: { unit: 'line', deep: { a: 1 } } }),
    'parameter unit',
    '/params/params/unit',
    'word',
    'line',
  ],
  [
    'a deep parameter',
    withParams({ params: { unit: 'word', deep: { a: 2 } } }),
    'parameter deep.a',
    '/params/params/deep/a',
    1,
    2,
  ],
  [
    'an output that is gone',
    withParams({ outputs: [] }),
    'output stats',
    '/params/outputs/stats',
    (params.outputs as JsonObject[])[0],
    undefined,
  ],
];

describe('explainRuns', () => {
  for (const [what, other, field, path, a, b] of CASES) {
    it(`names ${what}`, () => {
      const sides = { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
      assert.deepEqual(explainRuns(BASE, { ...other, paramsHash: 'another' }), [{ field, path, ...sides }]);
    });
  }
  it('tells what of the policy differs, in its own words, where both are kept', () => {
    const limits = (fields: JsonObject) => ({ policy: { runs: { limits: fields } } });
    const other = { ...BASE, policyHash: 'q', ...limits({ cpus: 3 }) };
    assert.deepEqual(explainRuns({ ...BASE, ...limits({ cpus: 2 }) }, other), [
      { field: 'policy runs.limits.cpus', path: '/policy/runs/limits/cpus', a: 2, b: 3 },
    ]);
    assert.deepEqual(
      explainRuns(BASE, other).map(({ field }) => field),
      ['policy for this tool'],
    );
  });

  it('tells rules of a policy that one has and the other has not, whatever their places', () => {
    const listing = (hash: string, shell: readonly string[], ...session: readonly JsonObject[]) => ({
      ...BASE,
      policyHash: hash,
      policy: [{ shell_allow: shell }, ...session],
    });
    assert.deepEqual(explainRuns(listing('p', ['b', 'c']), listing('q', ['a', 'b', 'c'], { network: [] })), [
      { field: 'policy shell_allow', path: '/policy/shell_allow', b: 'a' },
      { field: 'policy of the session', path: '/session', b: [{ network: [] }] },
    ]);
  });

  it('says nothing of the order of inputs, nor of equal runs', () => {
    assert.deepEqual(explainRuns(BASE, withParams({ inputs: [words, text] })), []);
    assert.deepEqual(explainRuns(BASE, structuredClone(BASE)), []);
  });
});
