import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { editDistance } from './edit-distance.ts';

describe('editDistance', () => {
  const TABLE: readonly (readonly [a: string, b: string, edits: number])[] = [
    ['', '', 0],
    ['', 'abc', 3],
    ['read', 'read', 0],
    ['raed', 'read', 1],
    ['fileread', 'file_read', 1],
    ['kitten', 'sitting', 3],
    ['ca', 'abc', 3],
  ];
  for (const [a, b, edits] of TABLE)
    it(`of ${JSON.stringify(a)} and ${JSON.stringify(b)} is ${edits}, both ways`, () => {
      assert.deepEqual([editDistance(a, b, 10), editDistance(b, a, 10)], [edits, edits]);
    });

  it('is exact up to the limit, and over it beyond', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 });
    fc.assert(
      fc.property(word, word, fc.nat(8), (a, b, limit) => {
        const exact = editDistance(a, b, 8);
        const limited = editDistance(a, b, limit);
        assert.ok(exact <= limit ? limited === exact : limited > limit, `${exact} ${limited} ${limit}`);
      }),
    );
  });
});
