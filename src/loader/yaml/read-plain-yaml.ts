// Owns: reading the YAML that people write in manifests, thirty times as fast as the reader with places.
// Refuses: everything else, and to explain anything: what it does not take is for the reader with places, which decides.
import { MAX_DEPTH } from './located.ts';
import type { Cursor, Plain } from './plain-scalar.ts';
import {
  COLON,
  DASH,
  DOUBLE,
  HASH,
  notPlain,
  QUOTE,
  readFlow,
  readKey,
  readQuoted,
  resolvePlain,
  SPACE,
} from './plain-scalar.ts';

/**
 * Block maps and lists, plain and quoted texts on one line, block scalars, and lists and maps in brackets. Undefined
 * where there is anything else: aliases, anchors, tags, texts over several lines, tabs, odd numbers, two equal keys,
 * mistakes. What it answers is what the reader with places would answer.
 */
export function readPlainYaml(text: string): unknown {
  const whole = text.includes('\r') ? text.replaceAll('\r\n', '\n') : text;
  if (SPECIAL.test(whole) || MARKER.test(whole)) return undefined;
  try {
    const lines = createLines(whole);
    if (!lines.next() || lines.indent !== 0) return undefined;
    const value = readBlock(lines, 0, 0);
    return lines.next() ? undefined : value;
  } catch (thrown) {
    if (thrown === notPlain) return undefined;
    throw thrown;
  }
}

/** Tabs, control characters and other line breaks. */
const SPECIAL = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/;
/** Directives and document markers. */
const MARKER = /(?:^|\n)(?:%|---|\.\.\.)/;

/** The map or list whose first line is at hand, and whose lines are all indented by `indent`. */
function readBlock(lines: Lines, indent: number, depth: number): Plain {
  if (depth >= MAX_DEPTH - 1) throw notPlain;
  return isDash(lines.text, lines.at, lines.end)
    ? readList(lines, indent, depth)
    : readMap(lines, indent, depth);
}

function readMap(lines: Lines, indent: number, depth: number): Plain {
  const map: { [key: string]: Plain } = {};
  while (lines.next() && lines.indent === indent) {
    if (isDash(lines.text, lines.at, lines.end)) break;
    const key = readKey(lines.text, lines.at, lines.end);
    if (Object.hasOwn(map, key.text)) throw notPlain;
    map[key.text] = readValue(lines, skipSpaces(lines.text, key.end, lines.end), indent, depth, true);
  }
  if (lines.next() && lines.indent > indent) throw notPlain;
  return map;
}

function readList(lines: Lines, indent: number, depth: number): Plain {
  const list: Plain[] = [];
  while (lines.next() && lines.indent === indent && isDash(lines.text, lines.at, lines.end)) {
    const { text, end } = lines;
    const at = skipSpaces(text, lines.at + 1, end);
    if (isDash(text, at, end)) throw notPlain;
    if (at < end && text.charCodeAt(at) !== HASH && startsMap(text, at, end)) {
      lines.at = at;
      lines.indent = at - lines.start;
      list.push(readBlock(lines, lines.indent, depth + 1));
    } else list.push(readValue(lines, at, indent, depth, false));
  }
  if (lines.next() && lines.indent > indent) throw notPlain;
  return list;
}

/** What follows a key or a dash: on the same line, or the block below. Only below a key a list may be as far left. */
function readValue(lines: Lines, from: number, indent: number, depth: number, ofKey: boolean): Plain {
  const { text, end } = lines;
  const at = skipSpaces(text, from, end);
  const first = at < end ? text.charCodeAt(at) : HASH;
  if (first === HASH && (at === end || text.charCodeAt(at - 1) === SPACE)) {
    lines.use();
    if (!lines.next()) return null;
    if (lines.indent > indent) return readBlock(lines, lines.indent, depth + 1);
    const listBelow = ofKey && lines.indent === indent && isDash(text, lines.at, lines.end);
    return listBelow ? readList(lines, indent, depth + 1) : null;
  }
  if (first === BAR || first === GREATER) return readBlockScalar(lines, at, indent);
  if (first === OPEN_LIST || first === OPEN_MAP) {
    const cursor: Cursor = { text, at, indent };
    const value = readFlow(cursor, depth + 1);
    const lineEnd = endOfLine(text, cursor.at);
    onlyComment(text, cursor.at, lineEnd);
    lines.skipTo(lineEnd + 1);
    return notContinued(lines, indent, value);
  }
  lines.use();
  if (first === QUOTE || first === DOUBLE) {
    const cursor: Cursor = { text, at, indent };
    const value = readQuoted(cursor, end);
    onlyComment(text, cursor.at, end);
    return notContinued(lines, indent, value);
  }
  return notContinued(lines, indent, resolvePlain(text, at, end));
}

/** A deeper line would go on with the text above it. */
function notContinued(lines: Lines, indent: number, value: Plain): Plain {
  if (lines.next() && lines.indent > indent) throw notPlain;
  return value;
}

function onlyComment(text: string, from: number, end: number): void {
  const at = skipSpaces(text, from, end);
  if (at < end && (text.charCodeAt(at) !== HASH || at === from)) throw notPlain;
}

/** Whether a key and a colon begin here; a text in quotes or brackets may be a value of its own. */
function startsMap(text: string, at: number, end: number): boolean {
  const first = text.charCodeAt(at);
  if (first === OPEN_LIST || first === OPEN_MAP || first === BAR || first === GREATER) return false;
  if (first === QUOTE || first === DOUBLE) {
    const cursor: Cursor = { text, at, indent: 0 };
    readQuoted(cursor, end);
    return text.charCodeAt(cursor.at) === COLON;
  }
  for (let colon = at; colon < end; colon++) {
    if (text.charCodeAt(colon) === COLON && (colon + 1 === end || text.charCodeAt(colon + 1) === SPACE))
      return true;
  }
  return false;
}

const isDash = (text: string, at: number, end: number): boolean =>
  text.charCodeAt(at) === DASH && (at + 1 === end || text.charCodeAt(at + 1) === SPACE);

function skipSpaces(text: string, from: number, end: number): number {
  let at = from;
  while (at < end && text.charCodeAt(at) === SPACE) at++;
  return at;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

const GREATER = 62;
const OPEN_LIST = 91;
const OPEN_MAP = 123;
const BAR = 124;

/** The text behind the indicator at `at`; its lines are indented by more than `indent`. */
function readBlockScalar(lines: Lines, at: number, indent: number): string {
  const { text, end } = lines;
  const header = HEADER.exec(text.slice(at, end));
  if (!header) throw notPlain;
  const found: string[] = [];
  let inner = -1;
  let from = end + 1;
  while (from < text.length) {
    let stop = text.indexOf('\n', from);
    if (stop === -1) stop = text.length;
    let first = from;
    while (first < stop && text.charCodeAt(first) === 32) first++;
    if (first === stop) {
      // Spaces beyond the indentation belong to the text, or are a mistake.
      if (stop - from > (inner === -1 ? indent + 1 : inner)) throw notPlain;
      found.push('');
    } else if (inner === -1) {
      if (first - from <= indent) break;
      inner = first - from;
      found.push(text.slice(first, stop));
    } else {
      if (first - from < inner) break;
      found.push(text.slice(from + inner, stop));
    }
    from = stop + 1;
  }
  lines.skipTo(from);
  // A line between the indentation of the text and of what is around it.
  if (lines.next() && lines.indent > indent) throw notPlain;
  if (inner === -1) throw notPlain;
  while (found.at(-1) === '') found.pop();
  const body = header[1] === '|' ? found.join('\n') : fold(found);
  return header[2] === '-' ? body : `${body}\n`;
}

const HEADER = /^([|>])(-?)(?: *$| +#)/;

function fold(found: readonly string[]): string {
  let body = '';
  let blank = 0;
  for (const [at, line] of found.entries()) {
    if (line === '') {
      blank++;
      continue;
    }
    if (line.startsWith(' ')) throw notPlain;
    body += blank > 0 ? '\n'.repeat(blank) : at > 0 ? ' ' : '';
    body += line;
    blank = 0;
  }
  return body;
}

/** The lines of the text that say something, one after the other. */
interface Lines {
  readonly text: string;
  /** Where the line begins, where its first character is, and where it ends. */
  start: number;
  at: number;
  end: number;
  /** How many spaces it begins with; where an entry of a list begins a map, as far as that. */
  indent: number;
  /** The next line that says something. The same again until it was used. */
  next(): boolean;
  /** What comes next begins here, at the start of a line. */
  skipTo(start: number): void;
  use(): void;
}

function createLines(text: string): Lines {
  let from = 0;
  let ready = false;
  const lines: Lines = {
    text,
    start: 0,
    at: 0,
    end: 0,
    indent: 0,
    next() {
      if (ready) return true;
      while (from < text.length) {
        let end = text.indexOf('\n', from);
        if (end === -1) end = text.length;
        let at = from;
        while (at < end && text.charCodeAt(at) === SPACE) at++;
        const start = from;
        from = end + 1;
        if (at === end || text.charCodeAt(at) === HASH) continue;
        lines.start = start;
        lines.at = at;
        lines.end = end;
        lines.indent = at - start;
        ready = true;
        return true;
      }
      return false;
    },
    skipTo(start) {
      from = start;
      ready = false;
    },
    use() {
      ready = false;
    },
  };
  return lines;
}
