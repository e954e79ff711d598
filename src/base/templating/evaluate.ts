// Owns: the value of an expression, with Python's arithmetic.
// Refuses: names, attributes and calls beyond what it was given and what this folder lists, and whole numbers that would not be exact.
import { closest } from '../closest.ts';
import { type Budget, type Callable, type Given, integerFor, made, type Site, textFor } from './callables.ts';
import { LIST_FILTERS } from './list-filters.ts';
import { contains, methodOf, TESTS } from './methods.ts';
import type { Arguments, Expression } from './syntax.ts';
import { templateFault } from './template-fault.ts';
import { type Filter, TEXT_FILTERS } from './text-filters.ts';
import {
  compare,
  equals,
  fieldsOf,
  floatOf,
  isDict,
  isList,
  isTrue,
  isTuple,
  keyOf,
  lookUp,
  numberOf,
  tupleOf,
  type Value,
} from './values.ts';

/** Names, the innermost first. */
export interface Scope {
  readonly names: Map<string, Value>;
  readonly outer?: Scope | undefined;
}

export interface Evaluation {
  readonly budget: Budget;
  /** How deep macros call each other. */
  depth: number;
}

export function evaluate(node: Expression, scope: Scope, evaluation: Evaluation): Value {
  evaluation.budget.step(node.line);
  return (RULES[node.kind] as Rule<Expression['kind']>)(node as never, scope, evaluation);
}

export function find(scope: Scope, name: string): Value {
  for (let at: Scope | undefined = scope; at; at = at.outer)
    if (at.names.has(name)) return at.names.get(name);
  return undefined;
}

export function siteAt(line: number, { budget }: Evaluation): Site {
  const site: Site = {
    budget,
    line,
    filter: (name, value, given) => filterNamed(name, line)(value, given, site),
    test(name, value, given) {
      const test = TESTS.get(name);
      if (!test) throw unknown('test', name, [...TESTS.keys()], line);
      return test(value, given, site);
    },
  };
  return site;
}

function filterNamed(name: string, line: number): Filter {
  const filter = TEXT_FILTERS.get(name) ?? LIST_FILTERS.get(name);
  if (!filter) throw unknown('filter', name, [...TEXT_FILTERS.keys(), ...LIST_FILTERS.keys()], line);
  return filter;
}

function unknown(what: string, name: string, known: readonly string[], line: number) {
  const near = closest(name, known);
  return templateFault(`there is no ${what} "${name}"${near ? `; did you mean "${near}"?` : ''}`, line);
}

/** Whether a template names only filters and tests that there are, without running it. */
export function checkName(kind: 'filter' | 'test', name: string, line: number): void {
  if (kind === 'filter') filterNamed(name, line);
  else if (!TESTS.has(name)) throw unknown('test', name, [...TESTS.keys()], line);
}

type Of<K extends Expression['kind']> = Extract<Expression, { readonly kind: K }>;
type Rule<K extends Expression['kind']> = (node: Of<K>, scope: Scope, evaluation: Evaluation) => Value;

export function evaluateArguments(
  { positional, named }: Arguments,
  scope: Scope,
  evaluation: Evaluation,
): Given {
  return {
    positional: positional.map((one) => evaluate(one, scope, evaluation)),
    named: new Map(named.map(([name, one]) => [name, evaluate(one, scope, evaluation)])),
  };
}

/** Something of what is not there is a mistake; that it is not there is not. */
function present(node: Expression, value: Value): Value {
  if (value === undefined) throw templateFault(`${describe(node)} is undefined`, node.line);
  return value;
}

function describe(node: Expression): string {
  if (node.kind === 'name') return `"${node.name}"`;
  if (node.kind === 'attribute') return `${describe(node.of).slice(0, -1)}.${node.name}"`;
  if (node.kind === 'item' && node.key.kind === 'literal')
    return `${describe(node.of).slice(0, -1)}.${String(node.key.value)}"`;
  return '"this"';
}

function attribute({ of, name }: Of<'attribute'>, scope: Scope, evaluation: Evaluation): Value {
  const value = present(of, evaluate(of, scope, evaluation));
  return (fieldsOf(value)?.get(name) ?? (isDict(value) ? lookUp(value, name) : undefined)) as Value;
}

function item({ of, key, line }: Of<'item'>, scope: Scope, evaluation: Evaluation): Value {
  const value = present(of, evaluate(of, scope, evaluation));
  const by = evaluate(key, scope, evaluation);
  if (isDict(value)) return lookUp(value, by);
  const fields = fieldsOf(value);
  if (fields) return fields.get(String(by));
  const items = typeof value === 'string' ? made([...value], siteAt(line, evaluation)) : value;
  const index = numberOf(by);
  if (!isList(items) || !index || index.float) return undefined;
  return items.at(index.n);
}

function slice({ of, start, stop, step, line }: Of<'slice'>, scope: Scope, evaluation: Evaluation): Value {
  const value = present(of, evaluate(of, scope, evaluation));
  const site = siteAt(line, evaluation);
  const items = typeof value === 'string' ? [...value] : value;
  if (!isList(items)) throw templateFault('only texts and lists have parts', line);
  site.budget.make(items.length, line);
  const part = (node: Expression | undefined): number | undefined => {
    const given = node && evaluate(node, scope, evaluation);
    return given === undefined || given === null ? undefined : integerFor('a part', given, 0, site);
  };
  const by = part(step) ?? 1;
  if (by === 0) throw templateFault('a part cannot have steps of 0', line);
  const size = items.length;
  const [low, high] = by > 0 ? [0, size] : [-1, size - 1];
  const clamp = (n: number) => Math.min(Math.max(n < 0 ? n + size : n, low), high);
  const [from, to] = [part(start), part(stop)];
  const begin = from === undefined ? (by > 0 ? low : high) : clamp(from);
  const end = to === undefined ? (by > 0 ? high : low) : clamp(to);
  const out: Value[] = [];
  for (let i = begin; by > 0 ? i < end : i > end; i += by) out.push(items[i]);
  return made(typeof value === 'string' ? out.join('') : out, site);
}

function call({ of, args, line }: Of<'call'>, scope: Scope, evaluation: Evaluation): Value {
  const site = siteAt(line, evaluation);
  const callee = of.kind === 'attribute' ? methodOr(of, scope, evaluation) : evaluate(of, scope, evaluation);
  if (typeof callee !== 'function') throw templateFault(`${describe(of)} cannot be called`, line);
  return (callee as Callable)(evaluateArguments(args, scope, evaluation), site);
}

function methodOr(node: Of<'attribute'>, scope: Scope, evaluation: Evaluation): Value {
  const value = present(node.of, evaluate(node.of, scope, evaluation));
  return methodOf(value, node.name) ?? fieldsOf(value)?.get(node.name);
}

function comparison({ first, rest, line }: Of<'compare'>, scope: Scope, evaluation: Evaluation): boolean {
  let left = evaluate(first, scope, evaluation);
  for (const { operator, to } of rest) {
    const right = evaluate(to, scope, evaluation);
    const site = siteAt(line, evaluation);
    if (isList(left) || isDict(left)) made(left, site);
    if (isList(right) || isDict(right)) made(right, site);
    if (!holds(operator, left, right, line)) return false;
    left = right;
  }
  return true;
}

function holds(operator: string, left: Value, right: Value, line: number): boolean {
  if (operator === '==') return equals(left, right);
  if (operator === '!=') return !equals(left, right);
  if (operator === 'in') return contains(right, left, line);
  if (operator === 'not in') return !contains(right, left, line);
  const order = compare(left, right);
  if (order === undefined) throw templateFault(`these cannot be compared by "${operator}"`, line);
  return operator === '<'
    ? order < 0
    : operator === '<='
      ? order <= 0
      : operator === '>'
        ? order > 0
        : order >= 0;
}

const RULES: { readonly [K in Expression['kind']]: Rule<K> } = {
  literal: ({ value }) => value,
  name: ({ name }, scope) => find(scope, name),
  list: ({ items, line }, scope, evaluation) =>
    made(
      items.map((one) => evaluate(one, scope, evaluation)),
      siteAt(line, evaluation),
    ),
  tuple: ({ items, line }, scope, evaluation) =>
    made(tupleOf(items.map((one) => evaluate(one, scope, evaluation))), siteAt(line, evaluation)),
  dict: ({ entries, line }, scope, evaluation) => {
    const dict = new Map<Value, Value>();
    for (const [key, value] of entries) {
      const by = keyOf(evaluate(key, scope, evaluation));
      if (typeof by === 'object' && by !== null)
        throw templateFault('only texts and numbers can be keys', line);
      dict.set(by, evaluate(value, scope, evaluation));
    }
    return made(dict, siteAt(line, evaluation));
  },
  attribute,
  item,
  slice,
  call,
  filter: ({ of, name, args, line }, scope, evaluation) =>
    filterNamed(name, line)(
      evaluate(of, scope, evaluation),
      evaluateArguments(args, scope, evaluation),
      siteAt(line, evaluation),
    ),
  test: ({ of, name, args, negated, line }, scope, evaluation) => {
    const given = evaluateArguments(args, scope, evaluation);
    return siteAt(line, evaluation).test(name, evaluate(of, scope, evaluation), given) !== negated;
  },
  unary: ({ operator, of, line }, scope, evaluation) => {
    const value = evaluate(of, scope, evaluation);
    if (operator === 'not') return !isTrue(value);
    return arithmetic('*', operator === '-' ? -1 : 1, present(of, value), siteAt(line, evaluation));
  },
  binary: ({ operator, left, right, line }, scope, evaluation) => {
    const one = evaluate(left, scope, evaluation);
    if (operator === 'and') return isTrue(one) ? evaluate(right, scope, evaluation) : one;
    if (operator === 'or') return isTrue(one) ? one : evaluate(right, scope, evaluation);
    const other = present(right, evaluate(right, scope, evaluation));
    return arithmetic(operator, present(left, one), other, siteAt(line, evaluation));
  },
  concat: ({ items, line }, scope, evaluation) => {
    const site = siteAt(line, evaluation);
    return made(items.map((one) => textFor(evaluate(one, scope, evaluation), site)).join(''), site);
  },
  compare: comparison,
  condition: ({ test, then, otherwise }, scope, evaluation) => {
    if (isTrue(evaluate(test, scope, evaluation))) return evaluate(then, scope, evaluation);
    return otherwise && evaluate(otherwise, scope, evaluation);
  },
};

function arithmetic(operator: string, left: Value, right: Value, site: Site): Value {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a && b) return withNumbers(operator, a, b, site);
  if (operator === '+') return joined(left, right, site);
  if (operator === '*' && a) return repeated(right, a.n, site);
  if (operator === '*' && b) return repeated(left, b.n, site);
  throw templateFault(`these cannot be combined by "${operator}"`, site.line);
}

type Operand = { readonly n: number; readonly float: boolean };

function withNumbers(operator: string, a: Operand, b: Operand, site: Site): Value {
  if (b.n === 0 && (operator === '/' || operator === '//' || operator === '%'))
    throw templateFault('a number is divided by zero', site.line);
  const result = (OPERATIONS[operator] as (a: number, b: number) => number)(a.n, b.n);
  const isFloat = a.float || b.float || operator === '/' || (operator === '**' && b.n < 0);
  if (isFloat) return floatOf(result);
  if (!Number.isSafeInteger(result)) throw templateFault('a number becomes too large', site.line);
  return Object.is(result, -0) ? 0 : result;
}

const OPERATIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '//': (a, b) => Math.floor(a / b),
  '%': (a, b) => a - b * Math.floor(a / b),
  '**': (a, b) => a ** b,
};

function joined(left: Value, right: Value, site: Site): Value {
  if (typeof left === 'string' && typeof right === 'string') {
    site.budget.make(left.length + right.length, site.line);
    return left + right;
  }
  if (isList(left) && isList(right) && isTuple(left) === isTuple(right)) {
    site.budget.make(left.length + right.length, site.line);
    const both = [...left, ...right];
    return made(isTuple(left) ? tupleOf(both) : both, site);
  }
  throw templateFault('these cannot be combined by "+"', site.line);
}

function repeated(value: Value, times: number, site: Site): Value {
  if (!Number.isInteger(times)) throw templateFault('only whole numbers of times can be repeated', site.line);
  const count = Math.max(0, times);
  if (typeof value === 'string') {
    site.budget.make(value.length * count, site.line);
    return value.repeat(count);
  }
  if (!isList(value)) throw templateFault('this cannot be repeated', site.line);
  site.budget.make(value.length * count, site.line);
  const items = Array.from({ length: count }, () => value).flat();
  return made(isTuple(value) ? tupleOf(items) : items, site);
}
