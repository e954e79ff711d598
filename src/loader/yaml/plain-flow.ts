// Owns: texts in quotes on one line, and lists and maps in brackets, over several lines where they are indented.
// Refuses: comments in brackets, keys without a value, and commas at the end.
import { MAX_DEPTH } from './located.ts';
import { notPlain, type Plain, resolveScalar } from './plain-scalar.ts';

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

function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (at - start) % 2 === 1;
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
const SPACE = 32;
const DOUBLE = 34;
const QUOTE = 39;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_MAP = 123;
const CLOSE_MAP = 125;
