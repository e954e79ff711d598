// Owns: the tests of Jinja2 (`x is defined`).
// Refuses: those that look at how a template was escaped.
import { bind, type Given, type Site } from './callables.ts';
import { templateFault } from './template-fault.ts';
import { compare, equals, hasKey, isDict, isList, itemsOf, numberOf, textOf, type Value } from './values.ts';

export type Test = (value: Value, given: Given, site: Site) => boolean;

const alone =
  (test: (value: Value) => boolean): Test =>
  (value, given, site) => {
    bind('this test', [], given, site.line);
    return test(value);
  };

const against =
  (test: (value: Value, other: Value, site: Site) => boolean): Test =>
  (value, given, site) =>
    test(value, bind('this test', ['other'], given, site.line)[0], site);

const order = (holds: (order: number) => boolean) =>
  against((value, other, site) => {
    const result = compare(value, other);
    if (result === undefined) throw templateFault('what is compared cannot be compared', site.line);
    return holds(result);
  });

const isFloat = (value: Value): boolean => typeof value !== 'boolean' && numberOf(value)?.float === true;
const isInteger = (value: Value): boolean => typeof value !== 'boolean' && numberOf(value)?.float === false;
const remainder = (value: Value, by: number): number => {
  const n = numberOf(value)?.n ?? Number.NaN;
  return ((n % by) + by) % by;
};

/** `in`: of a text its parts, of a dict its keys, of a list its items. */
export function contains(whole: Value, part: Value, line: number): boolean {
  if (typeof whole === 'string') {
    if (typeof part !== 'string') throw templateFault('only a text can be in a text', line);
    return whole.includes(part);
  }
  if (isDict(whole)) return hasKey(whole, part);
  const items = itemsOf(whole);
  if (!items) throw templateFault('nothing can be in this', line);
  return items.some((item) => equals(item, part));
}

const eq = against((value, other) => equals(value, other));
const ne = against((value, other) => !equals(value, other));
const lt = order((one) => one < 0);
const le = order((one) => one <= 0);
const gt = order((one) => one > 0);
const ge = order((one) => one >= 0);

export const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ['defined', alone((value) => value !== undefined)],
  ['undefined', alone((value) => value === undefined)],
  ['none', alone((value) => value === null)],
  ['boolean', alone((value) => typeof value === 'boolean')],
  ['true', alone((value) => value === true)],
  ['false', alone((value) => value === false)],
  ['integer', alone(isInteger)],
  ['float', alone(isFloat)],
  ['number', alone((value) => numberOf(value) !== undefined)],
  ['string', alone((value) => typeof value === 'string')],
  ['mapping', alone(isDict)],
  ['iterable', alone((value) => itemsOf(value) !== undefined)],
  ['sequence', alone((value) => typeof value === 'string' || isList(value) || isDict(value))],
  ['callable', alone((value) => typeof value === 'function')],
  ['lower', alone((value) => isLower(textOf(value)))],
  ['upper', alone((value) => isUpper(textOf(value)))],
  ['even', alone((value) => remainder(value, 2) === 0)],
  ['odd', alone((value) => remainder(value, 2) === 1)],
  ['divisibleby', against((value, other) => remainder(value, numberOf(other)?.n ?? 0) === 0)],
  ['in', against((value, other, site) => contains(other, value, site.line))],
  ['sameas', against((value, other) => Object.is(value, other))],
  ['eq', eq],
  ['equalto', eq],
  ['==', eq],
  ['ne', ne],
  ['!=', ne],
  ['lt', lt],
  ['lessthan', lt],
  ['<', lt],
  ['le', le],
  ['<=', le],
  ['gt', gt],
  ['greaterthan', gt],
  ['>', gt],
  ['ge', ge],
  ['>=', ge],
]);

export const isLower = (text: string): boolean => text === text.toLowerCase() && text !== text.toUpperCase();
export const isUpper = (text: string): boolean => text === text.toUpperCase() && text !== text.toLowerCase();
