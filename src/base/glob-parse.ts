// Owns: reading a glob: its tokens, its braces multiplied out, its literal beginning.
// Refuses: what it would have to guess at (open brackets, ranges in braces, POSIX classes), absolute patterns and `..`.
import { type Rejection, rejection } from './rejection.ts';

export interface CharClass {
  readonly kind: 'class';
  readonly negated: boolean;
  /** Inclusive ranges of code points. */
  readonly ranges: readonly (readonly [number, number])[];
}

export type GlobToken =
  | { readonly kind: 'char'; readonly code: number }
  | { readonly kind: 'slash' | 'one' | 'star' }
  | CharClass;

type RawToken = GlobToken | { readonly kind: 'open' | 'comma' | 'close' };

/** The alternatives that the braces of `pattern` stand for, each without a leading `./` or doubled slashes. */
export function parseGlob(pattern: string): GlobToken[][] {
  return expandBraces(tokenize(pattern)).map(tidy);
}

/** The directory before the first special character; `.` where there is none. A walker may start there. */
export function globBase(pattern: string): string {
  const shared = parseGlob(pattern)
    .map(literalDirectory)
    .reduce((a, b) => {
      const differs = a.findIndex((name, i) => name !== b[i]);
      return differs === -1 ? a : a.slice(0, differs);
    });
  return shared.length === 0 ? '.' : shared.join('/');
}

function badGlob(fact: string): Rejection {
  return rejection('input.glob', `Cannot use the glob: ${fact}`);
}

/** A pattern is written by a person or a model; these only stop what is meant to exhaust. */
const MAX_LENGTH = 1024;
const MAX_ALTERNATIVES = 1024;
const MAX_TOKENS = 16_384;

const SPECIAL: { readonly [char: string]: 'slash' | 'one' | 'star' | 'open' } = {
  '/': 'slash',
  '?': 'one',
  '*': 'star',
  '{': 'open',
};

function tokenize(pattern: string): RawToken[] {
  if (pattern === '') throw badGlob('it is empty');
  if (pattern.length > MAX_LENGTH) throw badGlob(`it is longer than ${MAX_LENGTH} characters`);
  if (pattern.includes('\0')) throw badGlob('it holds a NUL character');
  if (pattern.startsWith('/')) throw badGlob('it is absolute; paths are relative to the workspace');
  const chars = [...pattern];
  const tokens: RawToken[] = [];
  let braces = 0;
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]!;
    const special = SPECIAL[char];
    if (char === '\\') {
      const escaped = chars[++at];
      if (escaped === undefined) throw badGlob('it ends in a backslash');
      tokens.push(escaped === '/' ? { kind: 'slash' } : { kind: 'char', code: escaped.codePointAt(0)! });
    } else if (char === '[') {
      const end = classEnd(chars, at);
      tokens.push(parseClass(chars.slice(at + 1, end)));
      at = end;
    } else if (char === '}') {
      if (braces-- === 0) throw badGlob('it closes a brace that is not open (write \\} for the character)');
      tokens.push({ kind: 'close' });
    } else if (char === ',' && braces > 0) {
      tokens.push({ kind: 'comma' });
    } else if (special !== undefined) {
      if (special === 'open') braces++;
      tokens.push({ kind: special });
    } else {
      tokens.push({ kind: 'char', code: char.codePointAt(0)! });
    }
  }
  if (braces > 0) throw badGlob('a brace is not closed (write \\{ for the character)');
  return tokens;
}

/** Where the class that opens at `open` closes. A `]` that comes first stands for itself. */
function classEnd(chars: readonly string[], open: number): number {
  let at = open + 1;
  if (chars[at] === '!' || chars[at] === '^') at++;
  for (let first = true; at < chars.length; at++, first = false) {
    if (chars[at] === ']' && !first) return at;
    if (chars[at] === '\\') at++;
  }
  throw badGlob('a bracket is not closed (write \\[ for the character)');
}

function parseClass(body: readonly string[]): CharClass {
  const negated = body[0] === '!' || body[0] === '^';
  const members: { code: number; dash: boolean }[] = [];
  for (let at = negated ? 1 : 0; at < body.length; at++) {
    if (body[at] === '[' && body[at + 1] === ':')
      throw badGlob('classes such as [:alpha:] are not supported');
    const escaped = body[at] === '\\';
    const char = body[escaped ? ++at : at]!;
    if (char === '/') throw badGlob('a slash cannot be in brackets');
    members.push({ code: char.codePointAt(0)!, dash: char === '-' && !escaped });
  }
  const ranges: [number, number][] = [];
  for (let at = 0; at < members.length; at++) {
    const from = members[at]!.code;
    const to = members[at + 1]?.dash ? members[at + 2]?.code : undefined;
    if (to !== undefined && to < from) throw badGlob('a range in brackets runs backwards');
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return { kind: 'class', negated, ranges };
}

/** Every way to choose one alternative of each brace, in the order of writing. */
function expandBraces(raw: readonly RawToken[]): GlobToken[][] {
  let at = 0;
  const sequence = (inBrace: boolean): GlobToken[][] => {
    let ways: GlobToken[][] = [[]];
    for (; at < raw.length; at++) {
      const token = raw[at]!;
      if (token.kind === 'open') ways = multiply(ways, brace());
      else if (inBrace && (token.kind === 'comma' || token.kind === 'close')) break;
      else for (const way of ways) way.push(token as GlobToken);
    }
    return ways;
  };
  const brace = (): GlobToken[][] => {
    const from = at;
    const choices: GlobToken[][] = [];
    let commas = -1;
    do {
      commas++;
      at++;
      choices.push(...sequence(true));
    } while (raw[at]!.kind === 'comma');
    if (commas === 0 && isRange(raw.slice(from + 1, at)))
      throw badGlob('a range in braces is not supported; list the choices');
    return choices;
  };
  return multiply([[]], sequence(false));
}

function multiply(before: readonly GlobToken[][], after: readonly GlobToken[][]): GlobToken[][] {
  const tokens = (ways: readonly GlobToken[][]): number => ways.reduce((sum, way) => sum + way.length, 0);
  const size = tokens(before) * after.length + tokens(after) * before.length;
  if (before.length * after.length > MAX_ALTERNATIVES || size > MAX_TOKENS)
    throw badGlob('its braces stand for too many alternatives');
  return before.flatMap((head) => after.map((tail) => [...head, ...tail]));
}

function isRange(tokens: readonly RawToken[]): boolean {
  return /^[^.]+\.\.[^.]+(\.\.[^.]+)?$/u.test(literalText(tokens) ?? '');
}

/** Drops empty names, `.`, and a `**` that follows another. What is left of `.` is nothing, and matches the root. */
function tidy(tokens: readonly GlobToken[]): GlobToken[] {
  return splitNames(tokens)
    .filter((name) => {
      const text = literalText(name);
      if (text === '..') throw badGlob('it contains ".."');
      return text !== '' && text !== '.';
    })
    .filter((name, i, names) => !(isSpanName(name) && isSpanName(names[i + 1])))
    .flatMap((name, i): GlobToken[] => (i === 0 ? name : [{ kind: 'slash' }, ...name]));
}

/** `**`. */
export function isSpanName(name: readonly GlobToken[] | undefined): boolean {
  return name?.length === 2 && name.every((token) => token.kind === 'star');
}

function literalDirectory(tokens: readonly GlobToken[]): string[] {
  const names = splitNames(tokens).slice(0, -1).map(literalText);
  const special = names.indexOf(undefined);
  return (special === -1 ? names : names.slice(0, special)) as string[];
}

export function splitNames(tokens: readonly GlobToken[]): GlobToken[][] {
  const names: GlobToken[][] = [[]];
  for (const token of tokens) {
    if (token.kind === 'slash') names.push([]);
    else names.at(-1)!.push(token);
  }
  return names;
}

/** The text that these tokens spell, or undefined where one of them is special. */
export function literalText(tokens: readonly RawToken[]): string | undefined {
  let text = '';
  for (const token of tokens) {
    if (token.kind !== 'char') return undefined;
    text += String.fromCodePoint(token.code);
  }
  return text;
}

/** A glob that matches this text alone. */
export const escapeGlob = (text: string): string => text.replace(/[\\*?[\]{},]/g, '\\$&');
