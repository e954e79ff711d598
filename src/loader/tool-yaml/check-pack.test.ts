// Owns: that the fast canonical JSON of definitions is that of base/canonical-json.
// Refuses: timing.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { canonicalText } from '../../base/canonical-json.ts';
import { canonicalBody } from './check-pack.ts';

describe('canonicalBody', () => {
  it('agrees with canonicalText about any JSON', () => {
    const key = fc.oneof(
      fc.constantFrom('a', 'B', '$ref', '10', '9', '__proto__', 'é', '\ud83d\ude00', '\ue000'),
      fc.string({ maxLength: 4 }),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(null, true, false, -0, 1.5, 1e21, 1e-7, 'a"b\\', '\u2028\n\u0007'),
        fc.integer(),
        fc.string({ unit: 'grapheme', maxLength: 8 }),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 20 }),
      ),
    }));
    fc.assert(
      fc.property(value, (one) => assert.equal(canonicalBody(one), canonicalText(one))),
      { numRuns: 2000 },
    );
  });

  it('refuses what nests too deeply, as canonicalText does', () => {
    const nest = (depth: number): unknown => (depth === 0 ? {} : { a: nest(depth - 1) });
    assert.equal(canonicalBody(nest(63)), canonicalText(nest(63)));
    assert.throws(() => canonicalBody(nest(64)), /more than 64 levels/);
  });
});
