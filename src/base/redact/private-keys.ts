// Owns: where private keys in PEM and PGP armour begin and end, also those that were cut off or put on one line.
// Refuses: to take a mere mention for a key: a block ends at the first thing that armour never holds.
import type { Span } from './automaton.ts';

/** Adds a span for each block. */
export function findPrivateKeys(text: string, found: Span[]): void {
  if (!text.includes('PRIVATE KEY')) return;
  const begin = new RegExp(BEGIN);
  for (let opened = begin.exec(text); opened; opened = begin.exec(text)) {
    const end = endOfPrivateKey(text, begin.lastIndex);
    found.push([opened.index, end]);
    begin.lastIndex = end;
  }
}

/** Where the block ends whose inside is at `from`. The end of the text where it does not end. */
export function endOfPrivateKey(text: string, from: number): number {
  const piece = new RegExp(PIECE);
  let at = from;
  do {
    piece.lastIndex = at;
    const end = CLOSING.exec(text.slice(at, at + MAX_LINE));
    if (end) return at + end[0].length;
    at = piece.test(text) ? piece.lastIndex : at;
  } while (piece.lastIndex > 0 && at < text.length);
  return at;
}

const MAX_LINE = 128;
const BEGIN = /-----BEGIN [A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?-----/g;
const CLOSING = /^-----END [A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?-----/;

/** A line break (also written as \n), a line of base64, a header such as `Proc-Type: 4,ENCRYPTED`. */
const PIECE =
  /[ \t]{0,64}(?:\r?\n|\\r|\\n)[ \t]{0,64}|[A-Z][A-Za-z-]{2,20}: [^\r\n\\"']{1,200}|[A-Za-z0-9+/=]{1,4096}/y;
