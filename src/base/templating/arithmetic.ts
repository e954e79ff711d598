// Owns: `+ - * / // % **` as Python does them, with its difference between whole numbers and floats.
// Refuses: whole numbers beyond ±(2^53−1), where they would no longer be exact.
import { made, type Site } from './callables.ts';
import { templateFault } from './template-fault.ts';
import { floatOf, isList, isTuple, numberOf, tupleOf, type Value } from './values.ts';

export function arithmetic(operator: string, left: Value, right: Value, site: Site): Value {
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
