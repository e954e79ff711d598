import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { shWord } from './sh-word.ts';

describe('shWord', () => {
  it('is read by sh as what it was made from', () => {
    const text = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0'));
    fc.assert(
      fc.property(fc.array(text, { maxLength: 20 }), (values) => {
        const script = `for word in ${values.map(shWord).join(' ')}; do printf '%s\\0' "$word"; done`;
        const read = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
        assert.deepEqual(
          read,
          values.map((value) => Buffer.from(value).toString()),
        );
      }),
      { numRuns: 60 },
    );
  });
  it('refuses NUL', () => assert.throws(() => shWord('a\0b'), /NUL/));
});
