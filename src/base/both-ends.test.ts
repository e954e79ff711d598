// Owns: that the beginning and the end are kept, whatever the pieces, and that what is left out is counted.
// Refuses: timing.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { bothEnds, createBothEnds } from './both-ends.ts';

describe('createBothEnds', () => {
  it('keeps everything up to its cap, and beyond it both ends, whatever the pieces', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 4, max: 200 }),
        fc.array(fc.uint8Array({ maxLength: 150 })),
        (cap, chunks) => {
          const kept = createBothEnds(cap);
          for (const chunk of chunks) kept.push(chunk);
          const all = Buffer.concat(chunks);
          const bytes = Buffer.from(kept.bytes());
          assert.equal(kept.total, all.length);
          assert.equal(kept.truncated, all.length > cap);
          if (all.length <= cap) return assert.deepEqual(bytes, all);
          const head = Math.floor(cap / 4);
          assert.deepEqual(bytes.subarray(0, head), all.subarray(0, head));
          assert.deepEqual(
            bytes.subarray(bytes.length - (cap - head)),
            all.subarray(all.length - (cap - head)),
          );
          const said = bytes.subarray(head, bytes.length - (cap - head)).toString();
          assert.equal(said, `\n[… ${all.length - cap} bytes left out …]\n`);
        },
      ),
    );
  });
});

describe('bothEnds', () => {
  it('leaves a short text as it is, and says what it left out of a long one', () => {
    assert.equal(bothEnds('short', 5), 'short');
    const text = bothEnds(`first\n${'x'.repeat(10_000)}\nlast words\n`, 2048);
    assert.equal(text.length, 2048);
    assert.match(text, /^first\nx+\n\[… \d+ characters left out …\]\nx+\nlast words\n$/);
  });
});
