import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { lineSpan } from './file-read-range.ts';

/** The same answer, worked out the slow way on the whole text. */
function slowly(text: string, first: number, last: number) {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const before = lines.slice(0, first - 1).join('').length;
  return { lines, start: before, text: lines.slice(first - 1, last).join('') };
}

function spanOf(text: string, first: number, last: number, maxBytes: number, piece: number) {
  const counter = lineSpan({ first, last }, maxBytes);
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at += piece) counter.add(bytes.subarray(at, at + piece));
  return counter.end();
}

const texts = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r'), maxLength: 60 });

describe('lineSpan', () => {
  it('finds the same lines as splitting the text does, however it is cut into pieces', () => {
    fc.assert(
      fc.property(
        texts,
        fc.integer({ min: 1, max: 9 }),
        fc.nat(9),
        fc.integer({ min: 1, max: 7 }),
        (t, a, n, p) => {
          const expected = slowly(t, a, a + n);
          const span = spanOf(t, a, a + n, 1000, p);
          assert.equal(span.total, expected.lines.length);
          if (a > expected.lines.length) return assert.equal(span.start, span.end);
          assert.deepEqual(
            [t.slice(span.start, span.end), span.start, span.lastLine, span.truncated],
            [expected.text, expected.start, Math.min(a + n, expected.lines.length), false],
          );
        },
      ),
    );
  });

  it('cuts at the end of the last line that fits, or inside of the first line', () => {
    fc.assert(
      fc.property(
        texts,
        fc.integer({ min: 1, max: 5 }),
        fc.nat(20),
        fc.integer({ min: 1, max: 7 }),
        (t, a, max, p) => {
          const expected = slowly(t, a, Number.POSITIVE_INFINITY);
          const span = spanOf(t, a, Number.POSITIVE_INFINITY, max, p);
          if (a > expected.lines.length) return;
          const got = t.slice(span.start, span.end);
          assert.ok(expected.text.startsWith(got) && got.length <= max);
          assert.equal(span.truncated, expected.text.length > max);
          if (!span.truncated) return assert.equal(got, expected.text);
          if (span.cutInLine) return assert.equal(got.length, max);
          assert.ok(got.endsWith('\n'));
          assert.ok(got.length + expected.lines[span.lastLine]!.length > max);
        },
      ),
    );
  });

  it('says when the lines are found, so that the rest need not be read', () => {
    const counter = lineSpan({ first: 2, last: 2 }, 100);
    assert.equal(counter.add(Buffer.from('one\ntw')), true);
    assert.equal(counter.add(Buffer.from('o\nthree')), false);
    assert.deepEqual(counter.end(), {
      start: 4,
      end: 8,
      lastLine: 2,
      truncated: false,
      cutInLine: false,
      total: 3,
    });
  });
});
