// Owns: which guesses closest makes, and that it makes no wild ones.
// Refuses: to pin the distance itself.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { closest, editDistance } from './closest.ts';

describe('closest', () => {
  const tools = ['file_read', 'file_write', 'file_patch', 'fs_list', 'grep', 'curl'];

  it('finds the word that was meant', () => {
    assert.equal(closest('file_raed', tools), 'file_read');
    assert.equal(closest('fileread', tools), 'file_read');
    assert.equal(closest('File_Write', tools), 'file_write');
    assert.equal(closest('gerp', tools), 'grep');
    assert.equal(closest('fs_lst', tools), 'fs_list');
  });

  it('says nothing rather than something far-fetched', () => {
    assert.equal(closest('docker', tools), undefined);
    assert.equal(closest('xy', tools), undefined);
    assert.equal(closest('', tools), undefined);
    assert.equal(closest('grep', []), undefined);
  });

  it('prefers the nearer, and the first of equals', () => {
    assert.equal(closest('abcdef', ['abcdxx', 'abcdex', 'abcdey']), 'abcdex');
  });

  it('finds any word again after one change', () => {
    const word = fc.stringMatching(/^[a-z_]{4,20}$/);
    fc.assert(
      fc.property(
        word,
        fc.nat(),
        fc.constantFrom('drop', 'double', 'swap', 'change'),
        (text, seed, change) => {
          const at = seed % (text.length - 1);
          const [a, b] = [text[at]!, text[at + 1]!];
          const middle = { drop: b, double: a + a + b, swap: b + a, change: `9${b}` }[change];
          assert.equal(
            closest(text.slice(0, at) + middle + text.slice(at + 2), ['zzzzzzzzzzzz', text]),
            text,
          );
        },
      ),
    );
  });

  it('gives up on very long words', () => {
    assert.equal(closest('x'.repeat(1_000_000), ['x'.repeat(1_000_000)]), undefined);
  });
});

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
