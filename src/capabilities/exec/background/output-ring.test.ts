import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOutputRing } from './output-ring.ts';

const bytes = (text: string) => Buffer.from(text);

describe('an output ring', () => {
  it('keeps streams in order, and answers from any position', () => {
    const ring = createOutputRing(1000);
    ring.push('stdout', bytes('ab'));
    ring.push('stdout', bytes('c'));
    ring.push('stderr', bytes('d'));
    ring.push('stdout', bytes('e'));
    assert.deepEqual(ring.read(1, 100, false), {
      output: [
        { stream: 'stdout', text: 'bc' },
        { stream: 'stderr', text: 'd' },
        { stream: 'stdout', text: 'e' },
      ],
      next: 5,
      lost: 0,
    });
    assert.deepEqual(ring.read(1, 1, false).next, 2);
    assert.deepEqual(ring.read(5, 100, false), { output: [], next: 5, lost: 0 });
    assert.deepEqual(ring.read(900, 100, false), { output: [], next: 5, lost: 0 });
  });

  it('loses the oldest, and counts it', () => {
    const ring = createOutputRing(100_000);
    for (let n = 0; n < 1000; n++) ring.push(n % 100 ? 'stdout' : 'stderr', bytes('0123456789'.repeat(100)));
    const { output, next, lost } = ring.read(0, 10_000_000, true);
    const kept = output.reduce((sum, { text }) => sum + text.length, 0);
    assert.equal(next, 1_000_000);
    assert.equal(lost + kept, 1_000_000);
    assert.ok(kept >= 100_000 && kept <= 200_000, String(kept));
  });

  it('does not cut a character in two, unless there is no more of it', () => {
    const ring = createOutputRing(1000);
    const euro = bytes('a€');
    ring.push('stdout', euro.subarray(0, 3));
    assert.deepEqual(ring.read(0, 100, false), {
      output: [{ stream: 'stdout', text: 'a' }],
      next: 1,
      lost: 0,
    });
    assert.deepEqual(ring.read(0, 100, true).output[0]?.text, 'a\ufffd');
    ring.push('stdout', euro.subarray(3));
    assert.deepEqual(ring.read(1, 100, false).output[0]?.text, '€');
    assert.deepEqual(ring.read(0, 4, false).output[0]?.text, 'a€');
  });
});
