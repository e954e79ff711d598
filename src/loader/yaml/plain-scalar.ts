// Owns: keys and texts without quotes on one line, and what they are: nothing, true, a number, or text.
// Refuses: numbers in any spelling but the usual one, and texts that another reader could take for something else.

export type Plain = null | boolean | number | string | Plain[] | { [key: string]: Plain };

/** Thrown for whatever is not plain; it has no message, because another reader finds out what it is. */
export const notPlain: unique symbol = Symbol.for('haft.not-plain');

/** The key that begins at `at`; `end` is behind its colon, which a space or the end of the line follows. */
export function readKey(
  text: string,
  at: number,
  end: number,
): { readonly text: string; readonly end: number } {
  let stop = at;
  let key: string;
  const first = text.charCodeAt(at);
  if (first === QUOTE || first === DOUBLE) {
    stop = text.indexOf(first === QUOTE ? "'" : '"', at + 1);
    if (stop === -1 || stop >= end) throw notPlain;
    key = text.slice(at + 1, stop++);
    // An escape, or a doubled quote.
    if (key.includes('\\') || text.charCodeAt(stop) === first) throw notPlain;
  } else {
    while (stop < end && isKeyChar(text.charCodeAt(stop))) stop++;
    key = text.slice(at, stop);
  }
  if (key === '' || key === '<<' || key === '__proto__' || text.charCodeAt(stop) !== COLON) throw notPlain;
  const after = stop + 1;
  if (after < end && text.charCodeAt(after) !== SPACE) throw notPlain;
  return { text: key, end: after };
}

/** Letters, digits, `_`, `$`, `.`, `-` and `/`; a `-` that begins a key is followed by one of them. */
const isKeyChar = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 45 && code <= 57) ||
  code === 95 ||
  code === 36;

/** The text from here to the end of the line or to a comment. */
export function resolvePlain(text: string, at: number, end: number): Plain {
  if (!mayStart(text.charCodeAt(at), at + 1 < end ? text.charCodeAt(at + 1) : SPACE)) throw notPlain;
  let stop = at + 1;
  for (; stop < end; stop++) {
    const code = text.charCodeAt(stop);
    if (code === HASH && text.charCodeAt(stop - 1) === SPACE) break;
    // A colon before a space makes a key of what is before it.
    if (code === COLON && (stop + 1 === end || text.charCodeAt(stop + 1) === SPACE)) throw notPlain;
  }
  while (text.charCodeAt(stop - 1) === SPACE) stop--;
  return resolveScalar(text.slice(at, stop));
}

/** No indicator begins a text; `-`, `?` and `:` only before something. */
function mayStart(first: number, second: number): boolean {
  if (first === DASH || first === QUESTION || first === COLON) return second !== SPACE && !isBracket(second);
  return first > 0x7f || !INDICATORS.has(first);
}

const isBracket = (code: number): boolean =>
  code === 44 || code === 91 || code === 93 || code === 123 || code === 125;

const INDICATORS: ReadonlySet<number> = new Set(
  Array.from(' ,[]{}#&*!|>\'"%@`', (char) => char.charCodeAt(0)),
);

/** What a text without quotes stands for in YAML's core schema. */
export function resolveScalar(written: string): Plain {
  const first = written.charCodeAt(0);
  if (first < 58 && (first > 47 || first === 43 || first === 45 || first === 46)) {
    if (NUMBER.test(written)) return Number(written);
    if (ODD_NUMBER.test(written)) throw notPlain;
    return written;
  }
  return written.length <= 5 && WORDS.has(written) ? (WORDS.get(written) as Plain) : written;
}

const NUMBER = /^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?$/;
const ODD_NUMBER =
  /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|^0[ox]|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/;

const WORDS: ReadonlyMap<string, Plain> = new Map<string, Plain>([
  ['~', null],
  ['null', null],
  ['Null', null],
  ['NULL', null],
  ['true', true],
  ['True', true],
  ['TRUE', true],
  ['false', false],
  ['False', false],
  ['FALSE', false],
]);

const SPACE = 32;
const DOUBLE = 34;
const HASH = 35;
const QUOTE = 39;
const DASH = 45;
const COLON = 58;
const QUESTION = 63;
