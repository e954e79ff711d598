// Owns: that a bounded buffer keeps exactly the first bytes and hands back exactly the rest.
// Refuses: timing.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { bothEnds, createBothEnds, createBoundedBuffer } from './bounded-buffer.ts';

describe('createBoundedBuffer', () => {
  it('loses no byte between what it keeps and what it hands back', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.array(fc.uint8Array({ maxLength: 120 })), (cap, chunks) => {
        const buffer = createBoundedBuffer(cap);
        const spilled = chunks.map((chunk) => buffer.push(chunk));
        const all = Buffer.concat(chunks);
        assert.deepEqual(Buffer.from(buffer.bytes()), all.subarray(0, cap));
        assert.deepEqual(Buffer.concat(spilled), all.subarray(cap));
        assert.equal(buffer.total, all.length);
        assert.equal(buffer.truncated, all.length > cap);
      }),
    );
  });

  it('grows beyond its first size, up to the cap', () => {
    const buffer = createBoundedBuffer(1_000_000);
    for (let i = 0; i < 20; i++) buffer.push(new Uint8Array(60_000).fill(i));
    assert.equal(buffer.bytes().length, 1_000_000);
    assert.equal(buffer.bytes()[999_999], 16);
    assert.equal(buffer.total, 1_200_000);
  });

  it('keeps its own copy', () => {
    const buffer = createBoundedBuffer(8);
    const chunk = Uint8Array.of(1, 2, 3);
    buffer.push(chunk);
    chunk.fill(9);
    assert.deepEqual([...buffer.bytes()], [1, 2, 3]);
  });

  it('keeps nothing under a cap of zero, and refuses a cap that is none', () => {
    const buffer = createBoundedBuffer(0);
    assert.equal(buffer.truncated, false);
    assert.equal(buffer.push(Uint8Array.of(1)).length, 1);
    assert.equal(buffer.truncated, true);
    for (const cap of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      assert.throws(() => createBoundedBuffer(cap), RangeError);
  });
});

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
