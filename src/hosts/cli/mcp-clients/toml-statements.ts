// Owns: the statements of a TOML text: headers and pairs with their full keys, values and places.
// Refuses: what is not certainly TOML 1.0. Numbers and dates are kept as they are written.
import type { Json } from '../../../contract/json.ts';
import { doubt } from './config-format.ts';

export interface Statement {
  readonly kind: 'table' | 'tables' | 'pair';
  /** From the root of the document. */
  readonly key: readonly string[];
  /** Of a pair: how many words of the key stand in the header above it. */
  readonly inherited: number;
  readonly start: number;
  readonly end: number;
  /** Of a pair: where its value begins. */
  readonly valueAt: number;
  readonly value: Json;
}

export function tomlStatements(text: string): Statement[] {
  const found: Statement[] = [];
  const seen = new Set<string>();
  let table: readonly string[] = [];
  let at = 0;

  const refuse = (what: string, place = at) => doubt(text, place, `it is not valid TOML (${what})`);
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const hit = pattern.exec(text)?.[0];
    if (hit !== undefined) at += hit.length;
    return hit;
  };
  const expect = (token: string) => {
    if (!text.startsWith(token, at)) throw refuse(`"${token}" is missing`);
    at += token.length;
  };

  const keyPart = (): string => {
    const bare = match(/[A-Za-z0-9_-]+/y);
    if (bare !== undefined) return bare;
    if (text[at] === '"' || text[at] === "'") return line();
    throw refuse('a key is missing');
  };
  const dottedKey = (): string[] => {
    const parts = [keyPart()];
    while (match(/[ \t]*\.[ \t]*/y) !== undefined) parts.push(keyPart());
    return parts;
  };
  /** A string on one line. */
  const line = (): string => {
    const literal = match(/'[^'\n\r\x00-\x08\x0b-\x1f\x7f]*'/y);
    if (literal !== undefined) return literal.slice(1, -1);
    const basic = match(/"(?:[^"\\\n\r\x00-\x08\x0b-\x1f\x7f]|\\[^\n\r])*"/y);
    if (basic === undefined) throw refuse('a string does not end');
    return unescaped(basic.slice(1, -1));
  };
  const unescaped = (raw: string): string =>
    raw.replaceAll(/\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[\s\S])/g, (_, sign: string) => {
      const code = sign.length > 1 ? Number.parseInt(sign.slice(1), 16) : undefined;
      const char =
        code === undefined ? ESCAPES[sign] : code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
      if (char === undefined) throw refuse('an escape is unknown');
      return char;
    });
  const text3 = (): string | undefined => {
    const literal = match(/'''[\s\S]*?'''(?:'{0,2})/y);
    if (literal !== undefined) return literal.slice(3, -3).replace(/^\r?\n/, '');
    const basic = match(/"""(?:[^\\]|\\[\s\S])*?"""(?:"{0,2})/y);
    if (basic === undefined) return undefined;
    const inner = basic.slice(3, -3).replace(/^\r?\n/, '');
    return unescaped(inner.replaceAll(/\\[ \t]*\r?\n\s*/g, ''));
  };
  const gap = () => match(/(?:[ \t\r\n]|#[^\n]*)*/y);

  const array = (depth: number): Json[] => {
    expect('[');
    const values: Json[] = [];
    for (gap(); text[at] !== ']'; gap()) {
      values.push(value(depth + 1));
      gap();
      if (text[at] !== ']') expect(',');
    }
    expect(']');
    return values;
  };
  const inline = (depth: number): Json => {
    expect('{');
    const pairs: [string, Json][] = [];
    for (match(/[ \t]*/y); text[at] !== '}'; match(/[ \t]*/y)) {
      const key = dottedKey();
      match(/[ \t]*/y);
      expect('=');
      match(/[ \t]*/y);
      pairs.push([key.join('.'), value(depth + 1)]);
      match(/[ \t]*/y);
      if (text[at] !== '}') expect(',');
    }
    expect('}');
    return Object.fromEntries(pairs);
  };
  const value = (depth = 0): Json => {
    if (depth > MOST_DEPTH) throw refuse('it is nested too deeply');
    if (text[at] === '[') return array(depth);
    if (text[at] === '{') return inline(depth);
    if (text.startsWith('"""', at) || text.startsWith("'''", at)) {
      const long = text3();
      if (long === undefined) throw refuse('a string does not end');
      return long;
    }
    if (text[at] === '"' || text[at] === "'") return line();
    const bare = match(BARE);
    if (bare === undefined) throw refuse('a value is missing');
    return bare === 'true' ? true : bare === 'false' ? false : bare;
  };

  const once = (key: readonly string[], start: number) => {
    const name = JSON.stringify(key);
    if (seen.has(name)) throw refuse(`"${key.join('.')}" is there twice`, start);
    seen.add(name);
  };
  const header = (start: number) => {
    const isList = match(/\[\[/y) !== undefined;
    if (!isList) expect('[');
    match(/[ \t]*/y);
    table = dottedKey();
    match(/[ \t]*/y);
    expect(isList ? ']]' : ']');
    // Each entry of a list begins anew.
    if (isList)
      for (const name of seen) if (name.startsWith(JSON.stringify(table).slice(0, -1))) seen.delete(name);
    if (!isList) once(table, start);
    const kind = isList ? 'tables' : 'table';
    found.push({ kind, key: table, inherited: 0, start, end: at, valueAt: at, value: null });
  };
  const pair = (start: number) => {
    const key = [...table, ...dottedKey()];
    match(/[ \t]*/y);
    expect('=');
    match(/[ \t]*/y);
    const valueAt = at;
    const read = value();
    once(key, start);
    found.push({ kind: 'pair', key, inherited: table.length, start, end: at, valueAt, value: read });
  };

  for (gap(); at < text.length; gap()) {
    const start = at;
    if (text[at] === '[') header(start);
    else pair(start);
    if (match(/[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y) === undefined) throw refuse('the line does not end here');
  }
  return found;
}

const MOST_DEPTH = 100;

const BARE =
  /(?:true|false|[+-]?(?:inf|nan)|\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)?)?|\d\d:\d\d(?::\d\d(?:\.\d+)?)?|0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|[+-]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d[\d_]*)?)(?![\w.+-])/y;

const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
  e: '\x1b',
  '"': '"',
  '\\': '\\',
};
