// Owns: keys and values on one line: plain and quoted texts, numbers, `[…]` and `{…}`.
// Refuses: numbers in any spelling but the usual one, and texts that another reader could take for something else.
import { isEscaped } from '../../base/strict-json.ts';
import { MAX_DEPTH } from './located.ts';

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
function resolveScalar(written: string): Plain {
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

export const SPACE = 32;
export const DOUBLE = 34;
export const HASH = 35;
export const QUOTE = 39;
export const DASH = 45;
export const COLON = 58;
const QUESTION = 63;

export interface Cursor {
  readonly text: string;
  at: number;
  /** Lines inside of brackets are indented by more. */
  readonly indent: number;
}

/** The list or map that opens at the cursor, which is behind it afterwards. */
export function readFlow(cursor: Cursor, depth: number): Plain {
  if (depth >= MAX_DEPTH - 1) throw notPlain;
  const { text } = cursor;
  return text.charCodeAt(cursor.at++) === OPEN_LIST
    ? readFlowList(cursor, depth)
    : readFlowMap(cursor, depth);
}

function readFlowList(cursor: Cursor, depth: number): Plain {
  const list: Plain[] = [];
  const { text } = cursor;
  skipBlank(cursor);
  if (text.charCodeAt(cursor.at) === CLOSE_LIST) {
    cursor.at++;
    return list;
  }
  for (;;) {
    list.push(readFlowValue(cursor, depth));
    skipBlank(cursor);
    const next = text.charCodeAt(cursor.at++);
    if (next === CLOSE_LIST) return list;
    if (next !== COMMA) throw notPlain;
    skipBlank(cursor);
  }
}

function readFlowMap(cursor: Cursor, depth: number): Plain {
  const map: { [key: string]: Plain } = {};
  const { text } = cursor;
  skipBlank(cursor);
  if (text.charCodeAt(cursor.at) === CLOSE_MAP) {
    cursor.at++;
    return map;
  }
  for (;;) {
    const key = readFlowKey(cursor);
    if (Object.hasOwn(map, key)) throw notPlain;
    skipBlank(cursor);
    map[key] = readFlowValue(cursor, depth);
    skipBlank(cursor);
    const next = text.charCodeAt(cursor.at++);
    if (next === CLOSE_MAP) return map;
    if (next !== COMMA) throw notPlain;
    skipBlank(cursor);
  }
}

/** A key and its colon. */
function readFlowKey(cursor: Cursor): string {
  const { text } = cursor;
  const first = text.charCodeAt(cursor.at);
  const inQuotes = first === QUOTE || first === DOUBLE;
  const key = inQuotes ? readQuoted(cursor, text.length) : readFlowPlain(cursor);
  if (key === '' || key === '<<' || key === '__proto__') throw notPlain;
  if (text.charCodeAt(cursor.at) !== COLON) throw notPlain;
  cursor.at++;
  const after = text.charCodeAt(cursor.at);
  if (after !== SPACE && after !== NEWLINE && !inQuotes) throw notPlain;
  return key;
}

function readFlowValue(cursor: Cursor, depth: number): Plain {
  const first = cursor.text.charCodeAt(cursor.at);
  if (first === OPEN_LIST || first === OPEN_MAP) return readFlow(cursor, depth + 1);
  if (first === QUOTE || first === DOUBLE) return readQuoted(cursor, cursor.text.length);
  return resolveScalar(readFlowPlain(cursor));
}

/** A text without quotes, as it is written. A line break, a comment and a colon inside end what is plain. */
function readFlowPlain(cursor: Cursor): string {
  FLOW_PLAIN.lastIndex = cursor.at;
  const written = FLOW_PLAIN.exec(cursor.text)?.[0].trimEnd();
  if (!written) throw notPlain;
  cursor.at += written.length;
  return written;
}

/**
 * Begins with no indicator; goes on to a bracket, a comma, a line's end, a colon before a space or a bracket, or a hash
 * after a space.
 */
const FLOW_PLAIN =
  /(?:[^\s\-?:,[\]{}#&*!|>'"%@`]|-(?=[^\s,[\]{}]))(?:[^\n,[\]{}:#]|:(?=[^\s,[\]{}])|(?<! )#)*/y;

/** A text in quotes that ends on the same line. The cursor is behind it afterwards. */
export function readQuoted(cursor: Cursor, end: number): string {
  const { text, at } = cursor;
  const quote = text[at] as string;
  let stop = text.indexOf(quote, at + 1);
  if (quote === "'") {
    while (stop !== -1 && text[stop + 1] === "'") stop = text.indexOf("'", stop + 2);
  } else {
    while (stop !== -1 && isEscaped(text, stop)) stop = text.indexOf('"', stop + 1);
  }
  if (stop === -1 || stop >= end) throw notPlain;
  const inside = text.slice(at + 1, stop);
  if (inside.includes('\n')) throw notPlain;
  cursor.at = stop + 1;
  if (quote === "'") return inside.includes("'") ? inside.replaceAll("''", "'") : inside;
  return inside.includes('\\') ? unescaped(inside) : inside;
}

/** The escapes that YAML and JSON have in common. */
function unescaped(inside: string): string {
  if (!/^(?:[^\\]|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*$/.test(inside)) throw notPlain;
  return JSON.parse(`"${inside}"`) as string;
}

/** Over spaces and line breaks. A line inside of brackets that is not indented is for another reader. */
function skipBlank(cursor: Cursor): void {
  const { text, indent } = cursor;
  for (;;) {
    const code = text.charCodeAt(cursor.at);
    if (code === SPACE) cursor.at++;
    else if (code === NEWLINE) {
      const start = ++cursor.at;
      while (text.charCodeAt(cursor.at) === SPACE) cursor.at++;
      if (cursor.at - start <= indent && text.charCodeAt(cursor.at) !== NEWLINE) throw notPlain;
    } else return;
  }
}

const NEWLINE = 10;
const COMMA = 44;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN_MAP = 123;
const CLOSE_MAP = 125;
