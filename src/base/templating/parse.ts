// Owns: a template as statements.
// Refuses: statements that would read another template, and those that it does not know.
import { lex } from './lex.ts';
import {
  accept,
  type Cursor,
  expect,
  expectName,
  isName,
  isSign,
  parseExpression,
  parseFilter,
  parseTuple,
  peek,
  shown,
  take,
} from './parse-expression.ts';
import type { Expression, Statement, Target } from './syntax.ts';
import { templateFault } from './template-fault.ts';

const MAX_DEPTH = 50;
const ELSEWHERE = new Set(['include', 'import', 'from', 'extends', 'block']);

export function parse(source: string): readonly Statement[] {
  const cursor: Cursor = { tokens: lex(source), at: 0, depth: 0 };
  return parseBody(cursor, [], 0);
}

type Rule = (cursor: Cursor, line: number, depth: number) => Statement;

/** Up to a block that begins with one of `ends`; its name is left to be read. */
function parseBody(cursor: Cursor, ends: readonly string[], depth: number): Statement[] {
  const body: Statement[] = [];
  if (depth > MAX_DEPTH) throw templateFault('blocks are nested too deeply', peek(cursor).line);
  for (;;) {
    const token = take(cursor);
    if (token.type === 'eof') {
      if (ends.length === 0) return body;
      throw templateFault(`the end comes before "${ends.at(-1)}"`, token.line);
    }
    if (token.type === 'data') body.push({ kind: 'text', text: token.value, line: token.line });
    else if (token.value === '{{') {
      body.push({ kind: 'print', value: parseTuple(cursor), line: token.line });
      endMark(cursor);
    } else {
      const name = expectName(cursor);
      if (ends.includes(name)) {
        cursor.at--;
        return body;
      }
      const rule = RULES.get(name);
      if (!rule) throw templateFault(unknown(name), token.line);
      body.push(rule(cursor, token.line, depth + 1));
    }
  }
}

function unknown(name: string): string {
  if (ELSEWHERE.has(name)) return `"${name}" would need another template, and there is none`;
  return name.startsWith('end') || name === 'else' || name === 'elif'
    ? `"${name}" ends nothing that is open`
    : `there is no statement "${name}"`;
}

function endMark(cursor: Cursor): void {
  const token = take(cursor);
  if (token.type !== 'end') throw templateFault(`${shown(token)} is not expected here`, token.line);
}

/** The name at the end of a body, with its mark closed where nothing follows it. */
function endOf(cursor: Cursor, ...closing: readonly string[]): string {
  const name = expectName(cursor);
  if (closing.includes(name)) endMark(cursor);
  return name;
}

const parseIf: Rule = (cursor, line, depth) => {
  const branches: { test: Expression; body: Statement[] }[] = [];
  let otherwise: Statement[] = [];
  for (let name = 'if'; name !== 'endif'; ) {
    if (name === 'else') {
      otherwise = parseBody(cursor, ['endif'], depth);
      endOf(cursor, 'endif');
      break;
    }
    const test = parseTuple(cursor, false);
    endMark(cursor);
    branches.push({ test, body: parseBody(cursor, ['elif', 'else', 'endif'], depth) });
    name = endOf(cursor, 'else', 'endif');
  }
  return { kind: 'if', branches, otherwise, line };
};

const parseFor: Rule = (cursor, line, depth) => {
  const target = parseTarget(cursor, false);
  expect(cursor, 'in');
  const over = parseTuple(cursor, false);
  const filter = accept(cursor, 'if') ? parseExpression(cursor) : undefined;
  if (isName(cursor, 'recursive')) throw templateFault('a loop cannot call itself here', line);
  endMark(cursor);
  const body = parseBody(cursor, ['else', 'endfor'], depth);
  let otherwise: Statement[] = [];
  if (endOf(cursor, 'else', 'endfor') === 'else') {
    otherwise = parseBody(cursor, ['endfor'], depth);
    endOf(cursor, 'endfor');
  }
  return { kind: 'for', target, over, filter, body, otherwise, line };
};

const parseSet: Rule = (cursor, line, depth) => {
  const target = parseTarget(cursor, true);
  if (accept(cursor, '=')) {
    const value = parseTuple(cursor);
    endMark(cursor);
    return { kind: 'set', target, value, line };
  }
  const filters = parseFilterList(cursor);
  endMark(cursor);
  const body = parseBody(cursor, ['endset'], depth);
  endOf(cursor, 'endset');
  return { kind: 'set_block', target, filters, body, line };
};

function parseFilterList(cursor: Cursor) {
  const filters: ReturnType<typeof parseFilter>[] = [];
  while (accept(cursor, '|')) filters.push(parseFilter(cursor));
  return filters;
}

const parseWith: Rule = (cursor, line, depth) => {
  const values: [string, Expression][] = [];
  while (peek(cursor).type !== 'end') {
    if (values.length > 0) expect(cursor, ',');
    const name = expectName(cursor);
    expect(cursor, '=');
    values.push([name, parseExpression(cursor)]);
  }
  endMark(cursor);
  const body = parseBody(cursor, ['endwith'], depth);
  endOf(cursor, 'endwith');
  return { kind: 'with', values, body, line };
};

const parseFilterBlock: Rule = (cursor, line, depth) => {
  const filters = [parseFilter(cursor), ...parseFilterList(cursor)];
  endMark(cursor);
  const body = parseBody(cursor, ['endfilter'], depth);
  endOf(cursor, 'endfilter');
  return { kind: 'filter_block', filters, body, line };
};

const parseMacro: Rule = (cursor, line, depth) => {
  const name = expectName(cursor);
  expect(cursor, '(');
  const parameters: { name: string; fallback?: Expression | undefined }[] = [];
  while (!accept(cursor, ')')) {
    if (parameters.length > 0) expect(cursor, ',');
    const parameter = expectName(cursor);
    parameters.push({ name: parameter, fallback: accept(cursor, '=') ? parseExpression(cursor) : undefined });
  }
  endMark(cursor);
  const body = parseBody(cursor, ['endmacro'], depth);
  endOf(cursor, 'endmacro');
  return { kind: 'macro', name, parameters, body, line };
};

function parseTarget(cursor: Cursor, withNamespace: boolean): Target {
  const isGroup = accept(cursor, '(');
  const first = expectName(cursor);
  if (withNamespace && accept(cursor, '.')) return { namespace: first, field: expectName(cursor) };
  const names = [first];
  let several = false;
  while (accept(cursor, ',')) {
    several = true;
    if (isName(cursor, 'in') || isSign(cursor, '=') || isSign(cursor, ')')) break;
    names.push(expectName(cursor));
  }
  if (isGroup) expect(cursor, ')');
  return { names, several };
}

const RULES: ReadonlyMap<string, Rule> = new Map([
  ['if', parseIf],
  ['for', parseFor],
  ['set', parseSet],
  ['with', parseWith],
  ['filter', parseFilterBlock],
  ['macro', parseMacro],
]);
