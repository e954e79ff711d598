import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { quoteText } from './quote-text.ts';

const isQuoted = (text: string) =>
  assert.equal(Buffer.from(quoteText(text)).toString('utf8'), JSON.stringify(text));

describe('quoteText', () => {
  const TEXTS: readonly (readonly [string, string])[] = [
    ['an empty text', ''],
    ['a short text', 'one "two" \\ three\r\n'],
    ['more escapes than there is room for at first', '\u0001'.repeat(50_000)],
    ['three bytes for each character', '語'.repeat(50_000)],
    ['lone halves of characters', '\ud83d'.repeat(3000)],
    ['quotes around the ends of slices', '"'.repeat(4097)],
  ];
  for (const [what, text] of TEXTS) it(`writes ${what}`, () => isQuoted(text));

  it('keeps a character whole wherever it stands', () => {
    for (let before = 1015; before < 1035; before++) isQuoted(`${'x'.repeat(before)}😀${'é'.repeat(before)}`);
  });

  it('writes what JSON.stringify would', () => {
    const piece = fc.string({ unit: 'binary', maxLength: 200 });
    fc.assert(
      fc.property(piece, fc.nat(40), (text, times) => isQuoted(text.repeat(times))),
      { numRuns: 100 },
    );
  });
});
