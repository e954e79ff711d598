// Owns: expressions, with the precedence that Jinja2 gives its operators.
// Refuses: nesting without end, and arguments that are unpacked (`*args`).
import type { Token } from './lex.ts';
import { type Arguments, type Expression, NO_ARGUMENTS } from './syntax.ts';
import { templateFault } from './template-fault.ts';
import { floatOf } from './values.ts';

const MAX_DEPTH = 100;
/** Of operators, filters or attributes in a row. */
const MAX_CHAIN = 250;
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=']);
const CONSTANTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);

/** A place in the tokens. */
export interface Cursor {
  readonly tokens: readonly Token[];
  at: number;
  depth: number;
}

export const peek = (cursor: Cursor): Token => cursor.tokens[cursor.at] as Token;

export function take(cursor: Cursor): Token {
  const token = peek(cursor);
  if (token.type !== 'eof') cursor.at++;
  return token;
}

export const isSign = (cursor: Cursor, value: string): boolean => {
  const token = peek(cursor);
  return token.type === 'sign' && token.value === value;
};

export const isName = (cursor: Cursor, value: string): boolean => {
  const token = peek(cursor);
  return token.type === 'name' && token.value === value;
};

export function accept(cursor: Cursor, value: string): boolean {
  if (!isSign(cursor, value) && !isName(cursor, value)) return false;
  take(cursor);
  return true;
}

export function expect(cursor: Cursor, value: string): void {
  const token = peek(cursor);
  if (!accept(cursor, value)) throw templateFault(`"${value}" is expected, not ${shown(token)}`, token.line);
}

export function expectName(cursor: Cursor): string {
  const token = take(cursor);
  if (token.type !== 'name') throw templateFault(`a name is expected, not ${shown(token)}`, token.line);
  return token.value;
}

export const shown = ({ type, value }: Token): string =>
  type === 'eof' ? 'the end' : type === 'end' ? `"${value}"` : `"${value.slice(0, 40)}"`;

/** One expression, or several with commas: then it is a tuple. */
export function parseTuple(cursor: Cursor, withConditions = true): Expression {
  const { line } = peek(cursor);
  const first = parseExpression(cursor, withConditions);
  if (!isSign(cursor, ',')) return first;
  const items = [first];
  while (accept(cursor, ',')) {
    const token = peek(cursor);
    if (token.type === 'end' || (token.type === 'sign' && /[)\]}=]/.test(token.value))) break;
    items.push(parseExpression(cursor, withConditions));
  }
  return { kind: 'tuple', items, line };
}

export function parseExpression(cursor: Cursor, withConditions = true): Expression {
  const { line } = peek(cursor);
  if (++cursor.depth > MAX_DEPTH) throw templateFault('expressions are nested too deeply', line);
  try {
    return withConditions ? parseCondition(cursor) : parseOr(cursor);
  } finally {
    cursor.depth--;
  }
}

function parseCondition(cursor: Cursor): Expression {
  const { line } = peek(cursor);
  let then = parseOr(cursor);
  for (let links = 0; accept(cursor, 'if'); links++) {
    if (links > MAX_CHAIN) throw templateFault('an expression is too long', line);
    const test = parseOr(cursor);
    const otherwise = accept(cursor, 'else') ? parseExpression(cursor) : undefined;
    then = { kind: 'condition', test, then, otherwise, line };
  }
  return then;
}

/** Operators of one precedence, from the left. */
function leftToRight(operators: readonly string[], operand: (cursor: Cursor) => Expression) {
  return (cursor: Cursor): Expression => {
    const { line } = peek(cursor);
    let left = operand(cursor);
    for (let links = 0; ; links++) {
      if (links > MAX_CHAIN) throw templateFault('an expression is too long', line);
      const operator = operators.find((one) => isSign(cursor, one) || isName(cursor, one));
      if (operator === undefined) return left;
      take(cursor);
      left = { kind: 'binary', operator, left, right: operand(cursor), line };
    }
  };
}

function parseNot(cursor: Cursor): Expression {
  const { line } = peek(cursor);
  if (!accept(cursor, 'not')) return parseCompare(cursor);
  if (++cursor.depth > MAX_DEPTH) throw templateFault('expressions are nested too deeply', line);
  const of = parseNot(cursor);
  cursor.depth--;
  return { kind: 'unary', operator: 'not', of, line };
}

const parseAnd = leftToRight(['and'], parseNot);
const parseOr = leftToRight(['or'], parseAnd);

function parseCompare(cursor: Cursor): Expression {
  const { line } = peek(cursor);
  const first = parseSum(cursor);
  const rest: { operator: string; to: Expression }[] = [];
  for (;;) {
    const token = peek(cursor);
    if (token.type === 'sign' && COMPARISONS.has(token.value)) {
      take(cursor);
      rest.push({ operator: token.value, to: parseSum(cursor) });
    } else if (accept(cursor, 'in')) rest.push({ operator: 'in', to: parseSum(cursor) });
    else if (isName(cursor, 'not') && cursor.tokens[cursor.at + 1]?.value === 'in') {
      cursor.at += 2;
      rest.push({ operator: 'not in', to: parseSum(cursor) });
    } else return rest.length === 0 ? first : { kind: 'compare', first, rest, line };
  }
}

function parseConcat(cursor: Cursor): Expression {
  const { line } = peek(cursor);
  const items = [parseProduct(cursor)];
  while (accept(cursor, '~')) items.push(parseProduct(cursor));
  return items.length === 1 ? (items[0] as Expression) : { kind: 'concat', items, line };
}

const parsePower = leftToRight(['**'], (cursor) => parseUnary(cursor, true));
const parseProduct = leftToRight(['//', '*', '/', '%'], parsePower);
const parseSum = leftToRight(['+', '-'], parseConcat);

function parseUnary(cursor: Cursor, withFilters: boolean): Expression {
  const { line } = peek(cursor);
  let node: Expression;
  if (isSign(cursor, '-') || isSign(cursor, '+')) {
    if (++cursor.depth > MAX_DEPTH) throw templateFault('expressions are nested too deeply', line);
    const operator = take(cursor).value as '-' | '+';
    node = { kind: 'unary', operator, of: parseUnary(cursor, false), line };
    cursor.depth--;
  } else node = parsePrimary(cursor);
  node = parsePostfix(cursor, node);
  return withFilters ? parseFilters(cursor, node) : node;
}

function parsePrimary(cursor: Cursor): Expression {
  const token = take(cursor);
  const { line, value } = token;
  if (token.type === 'name') {
    if (CONSTANTS.has(value)) return { kind: 'literal', value: CONSTANTS.get(value), line };
    return { kind: 'name', name: value, line };
  }
  if (token.type === 'text') {
    let text = value;
    while (peek(cursor).type === 'text') text += take(cursor).value;
    return { kind: 'literal', value: text, line };
  }
  if (token.type === 'integer') {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) throw templateFault(`${value} is too large a number`, line);
    return { kind: 'literal', value: number, line };
  }
  if (token.type === 'float') return { kind: 'literal', value: floatOf(Number(value)), line };
  if (token.type === 'sign' && value === '(') {
    if (accept(cursor, ')')) return { kind: 'tuple', items: [], line };
    const inner = parseTuple(cursor);
    expect(cursor, ')');
    return inner;
  }
  if (token.type === 'sign' && value === '[')
    return { kind: 'list', items: parseItems(cursor, ']', parseExpression), line };
  if (token.type === 'sign' && value === '{') {
    const entries = parseItems(cursor, '}', (one) => {
      const key = parseExpression(one);
      expect(one, ':');
      return [key, parseExpression(one)] as const;
    });
    return { kind: 'dict', entries, line };
  }
  throw templateFault(`${shown(token)} is not expected here`, line);
}

function parseItems<T>(cursor: Cursor, closer: string, one: (cursor: Cursor) => T): T[] {
  const items: T[] = [];
  while (!accept(cursor, closer)) {
    if (items.length > 0) {
      expect(cursor, ',');
      if (accept(cursor, closer)) break;
    }
    items.push(one(cursor));
  }
  return items;
}

function parsePostfix(cursor: Cursor, node: Expression): Expression {
  let of = node;
  for (let links = 0; ; links++) {
    const { line } = peek(cursor);
    if (links > MAX_CHAIN) throw templateFault('an expression is too long', line);
    if (accept(cursor, '.')) {
      const token = take(cursor);
      if (token.type === 'name') of = { kind: 'attribute', of, name: token.value, line };
      else if (token.type === 'integer')
        of = { kind: 'item', of, key: { kind: 'literal', value: Number(token.value), line }, line };
      else throw templateFault(`a name is expected, not ${shown(token)}`, token.line);
    } else if (accept(cursor, '[')) of = parseSubscript(cursor, of, line);
    else if (isSign(cursor, '(')) of = { kind: 'call', of, args: parseArguments(cursor), line };
    else return of;
  }
}

function parseSubscript(cursor: Cursor, of: Expression, line: number): Expression {
  const part = () => (isSign(cursor, ':') || isSign(cursor, ']') ? undefined : parseExpression(cursor));
  const start = part();
  if (start && accept(cursor, ']')) return { kind: 'item', of, key: start, line };
  expect(cursor, ':');
  const stop = part();
  const step = accept(cursor, ':') ? part() : undefined;
  expect(cursor, ']');
  return { kind: 'slice', of, start, stop, step, line };
}

export function parseArguments(cursor: Cursor): Arguments {
  expect(cursor, '(');
  const positional: Expression[] = [];
  const named: [string, Expression][] = [];
  parseItems(cursor, ')', (one) => {
    const token = peek(one);
    const isNamed = token.type === 'name' && one.tokens[one.at + 1]?.value === '=';
    if (isSign(one, '*') || isSign(one, '**'))
      throw templateFault('arguments cannot be unpacked', token.line);
    if (isNamed) {
      one.at += 2;
      named.push([token.value, parseExpression(one)]);
    } else if (named.length > 0)
      throw templateFault('an argument without a name comes after one with a name', token.line);
    else positional.push(parseExpression(one));
  });
  return { positional, named };
}

/** The filters and tests after an expression. */
export function parseFilters(cursor: Cursor, node: Expression): Expression {
  let of = node;
  for (let links = 0; ; links++) {
    const { line } = peek(cursor);
    if (links > MAX_CHAIN) throw templateFault('an expression is too long', line);
    if (accept(cursor, '|')) {
      const { name, args } = parseFilter(cursor);
      of = { kind: 'filter', of, name, args, line };
    } else if (isName(cursor, 'is')) of = parseTest(cursor, of);
    else if (isSign(cursor, '(')) of = { kind: 'call', of, args: parseArguments(cursor), line };
    else return of;
  }
}

export function parseFilter(cursor: Cursor): { readonly name: string; readonly args: Arguments } {
  const name = expectName(cursor);
  return { name, args: isSign(cursor, '(') ? parseArguments(cursor) : NO_ARGUMENTS };
}

const NO_OPERAND = new Set(['else', 'or', 'and', 'is', 'if', 'in', 'not']);

function parseTest(cursor: Cursor, of: Expression): Expression {
  const { line } = take(cursor);
  const negated = accept(cursor, 'not');
  const token = take(cursor);
  if (token.type !== 'name')
    throw templateFault(`the name of a test is expected, not ${shown(token)}`, token.line);
  const next = peek(cursor);
  let args: Arguments = NO_ARGUMENTS;
  if (isSign(cursor, '(')) args = parseArguments(cursor);
  else if (
    ['text', 'integer', 'float'].includes(next.type) ||
    (next.type === 'name' && !NO_OPERAND.has(next.value)) ||
    (next.type === 'sign' && (next.value === '[' || next.value === '{'))
  )
    args = { positional: [parsePostfix(cursor, parsePrimary(cursor))], named: [] };
  return { kind: 'test', of, name: token.value, args, negated, line };
}
