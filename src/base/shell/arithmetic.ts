// Owns: which arithmetic is only numbers, and that names used in it can hold nothing else.
// Refuses: subscripts, substitutions and unknown names: bash evaluates their text again, `a='b[$(rm x)]'; echo $((a))` runs rm.
import type { ArithmeticExpansionPart, ArithmeticExpression, Word } from 'unbash';
import { refuse, type Span } from './analysis.ts';
import { account, IDENTIFIER, INTEGER, setVariable, type Walk } from './walk.ts';

/** Visits `$((…))`. The old form `$[…]` is refused. */
export function visitArithmetic(walk: Walk, part: ArithmeticExpansionPart): void {
  if (!/^\$\(\([\s\S]*\)\)$/.test(part.text))
    refuse('shell.dynamic', `Cannot know what ${part.text} becomes: write it as $((…))`, part);
  visitExpression(walk, part.expression, { pos: part.pos + 3, end: part.end - 2 });
}

/** Visits the expression that fills `region`. */
export function visitExpression(
  walk: Walk,
  expression: ArithmeticExpression | undefined,
  region: Span,
): void {
  const pieces: Span[] = [];
  if (expression !== undefined) visit(walk, expression, pieces);
  account(walk.source, region, pieces, 'arithmetic');
}

/** The name that the expression sets whatever happens: `i` of `i = 0`. */
export function namesSet(expression: ArithmeticExpression | undefined): readonly string[] {
  if (expression?.type !== 'ArithmeticBinary' || expression.operator !== '=') return [];
  return expression.left.type === 'ArithmeticWord' ? [expression.left.value] : [];
}

/** Checks a word that bash evaluates as arithmetic: a subscript, an offset, an operand of `-eq`. */
export function useAsInteger(walk: Walk, word: Word): void {
  const text = word.text.trim().replace(/^"(.*)"$/, '$1');
  if (INTEGER.test(text) || /^\$[?#$]$/.test(text)) return;
  const found = /^(?:\$\{(#?)(\w+)\}|\$?(\w+))$/.exec(text);
  const name = found?.[2] ?? found?.[3] ?? '';
  if (!IDENTIFIER.test(name)) return evaluates(word, word.text);
  if (found?.[1] !== '#') useName(walk, name, word);
}

type Expressions = {
  readonly [K in ArithmeticExpression['type']]: (
    walk: Walk,
    expression: Extract<ArithmeticExpression, { type: K }>,
    pieces: Span[],
  ) => void;
};

const visit = (walk: Walk, expression: ArithmeticExpression, pieces: Span[]): void =>
  (EXPRESSIONS[expression.type] ?? unknown)(walk, expression as never, pieces);

const EXPRESSIONS: Expressions = {
  ArithmeticBinary(walk, { operator, left, right }, pieces) {
    visit(walk, right, pieces);
    if (operator === '=') pieces.push(left);
    else visit(walk, left, pieces);
    if (/^(?:[-+*/%&|^]|<<|>>)?=$/.test(operator)) assign(walk, left);
  },
  ArithmeticUnary(walk, { operator, operand }, pieces) {
    visit(walk, operand, pieces);
    if (operator === '++' || operator === '--') assign(walk, operand);
  },
  ArithmeticTernary(walk, { test, consequent, alternate }, pieces) {
    for (const branch of [test, consequent, alternate]) visit(walk, branch, pieces);
  },
  ArithmeticGroup(walk, { expression }, pieces) {
    visit(walk, expression, pieces);
  },
  ArithmeticWord(walk, word, pieces) {
    pieces.push(word);
    const { value } = word;
    if (walk.source.slice(word.pos, word.end) !== value) evaluates(word, value);
    if (/^(?:[0-9]{1,18}|0[xX][0-9a-fA-F]{1,16}|\$[?#])$/.test(value)) return;
    const name = value.replace(/^\$\{(.*)\}$|^\$/, '$1');
    if (IDENTIFIER.test(name)) return useName(walk, name, word);
    if (!/^\$\{#[A-Za-z_][A-Za-z0-9_]*\}$/.test(value)) evaluates(word, value);
  },
  ArithmeticCommandExpansion(_walk, expression) {
    evaluates(expression, expression.text);
  },
};

function assign(walk: Walk, target: ArithmeticExpression): void {
  if (target.type !== 'ArithmeticWord' || !IDENTIFIER.test(target.value)) return unknown(walk, target);
  setVariable(walk, target.value, target, undefined, true);
}

function useName(walk: Walk, name: string, span: Span): void {
  if (!walk.integers.has(name)) evaluates(span, name);
  walk.gathered.evaluated.push({ name, span });
}

function evaluates(span: Span, text: string): never {
  const message = `Cannot know what ${text} holds: in arithmetic bash evaluates it, and it is not set to a number before`;
  refuse('shell.dynamic', message, span);
}

function unknown(_walk: Walk, span: Span): never {
  refuse('shell.unparsable', 'Cannot read the command: its arithmetic is not understood', span);
}
