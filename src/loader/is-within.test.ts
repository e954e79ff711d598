import assert from 'node:assert/strict';
import { isAbsolute, relative } from 'node:path';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { isWithin } from './is-within.ts';

describe('isWithin', () => {
  it('says what the way from one to the other says', () => {
    const path = fc
      .array(fc.constantFrom('/', 'a', 'b', '.', '..', 'ab', '.a'), { maxLength: 7 })
      .map((parts) => `/${parts.join('')}`);
    fc.assert(
      fc.property(path, path, (one, other) => {
        const way = relative(other, one);
        const expected = way === '' || (!isAbsolute(way) && way !== '..' && !way.startsWith('../'));
        assert.equal(isWithin(one, other), expected, `${one} in ${other}`);
      }),
      { numRuns: 5_000 },
    );
  });
});
