import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { corpusForTests } from './patch-corpus-for-tests.ts';
import { FORMAT_PERTURBATIONS, FORMATS, triedAs } from './patch-formats.ts';

const diffs = await corpusForTests();

for (const format of FORMATS) {
  describe(`a spoilt diff as ${format.name} is applied right or refused`, () => {
    for (const perturbation of FORMAT_PERTURBATIONS) {
      if ((perturbation.only ?? format.name) !== format.name) continue;
      it(perturbation.name, () => {
        for (const [i, diff] of diffs.entries()) {
          const tried = triedAs(format, perturbation, diff, i);
          const right = typeof tried?.result !== 'string' || tried.right.includes(tried.result);
          assert.ok(right, JSON.stringify(tried, null, 1));
        }
      });
    }

    it('and applied when nothing was spoilt and its places are certain', () => {
      const { make } = FORMAT_PERTURBATIONS[0]!;
      const results = diffs.map((diff, i) => triedAs(format, { name: '', make }, diff, i)!.result);
      assert.ok(results.filter((result) => typeof result === 'string').length > diffs.length / 4);
    });
  });
}
