// Owns: a template's text as tokens: data between the marks, and words, numbers, texts and signs within them.
// Refuses: what no token can be.
import { templateFault } from './template-fault.ts';

export interface Token {
  /** `data` between marks, `begin`/`end` of `{{ }}` (print) and `{% %}` (block), and what is within. */
  readonly type: 'data' | 'begin' | 'end' | 'name' | 'text' | 'integer' | 'float' | 'sign' | 'eof';
  readonly value: string;
  readonly line: number;
}

const MARK = /\{\{|\{%|\{#/g;
const CLOSERS: Readonly<Record<string, string>> = { '{{': '}}', '{%': '%}' };
const SPACE = /[ \t\r\n]*/y;
const NAME = /[\p{L}_][\p{L}\p{Nd}_]*/uy;
const NUMBER =
  /(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|[0-9](?:_?[0-9])*(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?)/y;
const TEXT = /'((?:[^'\\]|\\[\s\S])*)'|"((?:[^"\\]|\\[\s\S])*)"/y;
const SIGN = /\*\*|\/\/|==|!=|<=|>=|[-+*/%~<>=(){}[\].,:|;]/y;
const RAW = /[-+]?[ \t\r\n]*raw[ \t\r\n]*(-|\+)?%\}/y;
const END_RAW = /\{%(-|\+)?[ \t\r\n]*endraw[ \t\r\n]*(-|\+)?%\}/g;

/** As Jinja2 reads it with its usual settings: one line break at the very end is dropped. */
export function lex(source: string): readonly Token[] {
  const text = source.replaceAll(/\r\n|\r/g, '\n').replace(/\n$/, '');
  const tokens: Token[] = [];
  let at = 0;
  let line = 1;
  let trimNext = false;
  const advance = (to: number): void => {
    for (let i = text.indexOf('\n', at); i !== -1 && i < to; i = text.indexOf('\n', i + 1)) line++;
    at = to;
  };
  const data = (until: number, trimEnd: boolean): void => {
    let piece = text.slice(at, until);
    const begun = line;
    if (trimNext) piece = piece.replace(/^[ \t\n]+/, '');
    if (trimEnd) piece = withoutTail(piece);
    if (piece !== '') tokens.push({ type: 'data', value: piece, line: begun });
    trimNext = false;
    advance(until);
  };
  for (;;) {
    MARK.lastIndex = at;
    const found = MARK.exec(text);
    if (!found) {
      data(text.length, false);
      tokens.push({ type: 'eof', value: '', line });
      return tokens;
    }
    const mark = found[0];
    const sign = text[found.index + 2];
    data(found.index, sign === '-');
    if (mark === '{#') {
      const close = text.indexOf('#}', at + 2);
      if (close === -1) throw templateFault('a comment is not closed', line);
      trimNext = text[close - 1] === '-' && close - 1 > found.index + 1;
      advance(close + 2);
      continue;
    }
    advance(at + 2);
    if (mark === '{%') {
      RAW.lastIndex = at;
      const raw = RAW.exec(text);
      if (raw) {
        advance(RAW.lastIndex);
        END_RAW.lastIndex = at;
        const end = END_RAW.exec(text);
        if (!end) throw templateFault('a raw block is not closed', line);
        trimNext = raw[1] === '-';
        data(end.index, end[1] === '-');
        advance(END_RAW.lastIndex);
        trimNext = end[2] === '-';
        continue;
      }
    }
    if (sign === '-' || sign === '+') advance(at + 1);
    tokens.push({ type: 'begin', value: mark, line });
    within(CLOSERS[mark] as string);
  }

  /** The tokens up to the closing mark. */
  function within(closer: string): void {
    const open: string[] = [];
    for (;;) {
      SPACE.lastIndex = at;
      SPACE.exec(text);
      advance(SPACE.lastIndex);
      if (at >= text.length) throw templateFault(`"${closer}" is missing`, line);
      const closes = /[-+]?/y;
      closes.lastIndex = at;
      const trim = closes.exec(text)?.[0] ?? '';
      if (open.length === 0 && text.startsWith(closer, at + trim.length)) {
        tokens.push({ type: 'end', value: closer, line });
        advance(at + trim.length + 2);
        trimNext = trim === '-';
        return;
      }
      const token = next();
      if (token.type === 'sign') balance(open, token);
      tokens.push(token);
    }
  }

  function next(): Token {
    const begun = line;
    const match = (pattern: RegExp): RegExpExecArray | undefined => {
      pattern.lastIndex = at;
      const result = pattern.exec(text) ?? undefined;
      if (result) advance(pattern.lastIndex);
      return result;
    };
    const name = match(NAME);
    if (name) return { type: 'name', value: name[0], line: begun };
    const number = match(NUMBER);
    if (number) {
      const value = number[0].replaceAll('_', '');
      const isFloat = !/^0[xob]/i.test(value) && /[.eE]/.test(value);
      return { type: isFloat ? 'float' : 'integer', value, line: begun };
    }
    const quoted = match(TEXT);
    if (quoted) return { type: 'text', value: unescaped(quoted[1] ?? quoted[2] ?? ''), line: begun };
    const sign = match(SIGN);
    if (sign) return { type: 'sign', value: sign[0], line: begun };
    throw templateFault(`"${text[at]}" cannot be understood here`, line);
  }
}

const PAIRS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

function balance(open: string[], { value, line }: Token): void {
  const closer = PAIRS[value];
  if (closer !== undefined) open.push(closer);
  else if (value === ')' || value === ']' || value === '}')
    if (open.pop() !== value) throw templateFault(`"${value}" closes nothing`, line);
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  '0': '\0',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '\n': '',
};

/** As Python reads texts; an escape that it does not know stays as it is. */
function unescaped(text: string): string {
  return text.replaceAll(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/g,
    (whole, x, u, long, one) => {
      const code = x ?? u ?? long;
      if (code === undefined) return ESCAPES[one] ?? whole;
      const point = Number.parseInt(code, 16);
      return point > 0x10ffff ? whole : String.fromCodePoint(point);
    },
  );
}

/** A pattern for the end of a text would look from every space on. */
function withoutTail(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\n'.includes(text[end - 1] as string)) end--;
  return text.slice(0, end);
}
