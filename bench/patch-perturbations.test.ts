import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { corpusForTests } from './patch-corpus-for-tests.ts';
import { PERTURBATIONS, patched } from './patch-perturbations.ts';

const diffs = await corpusForTests();

describe('a diff that was spoilt is applied right or refused', () => {
  for (const { name, apart, make } of PERTURBATIONS) {
    if (apart) continue;
    it(name, () => {
      for (const [i, diff] of diffs.entries()) {
        for (const tried of make(diff, i, diffs)) {
          const result = patched(tried);
          const right = typeof result !== 'string' || tried.boundary || tried.right.includes(result);
          assert.ok(right, `${JSON.stringify(tried, null, 1)}\nbecame\n${JSON.stringify(result)}`);
        }
      }
    });
  }

  it('and applied when nothing was spoilt', () => {
    for (const name of ['nothing', 'nothing, no index line', 'an LF diff on a CRLF file', 'no context']) {
      const { make } = PERTURBATIONS.find((one) => one.name === name)!;
      const results = diffs
        .flatMap((diff, i) => make(diff, i, diffs))
        .map((tried) => [tried.right[0], patched(tried)]);
      for (const [right, result] of results) assert.equal(result, right);
    }
  });
});
