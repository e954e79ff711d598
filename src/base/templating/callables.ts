// Owns: how filters, tests, methods and functions take their arguments, and the budget of steps, text and lists that all of them share.
// Refuses: arguments that they do not have, and clocks: the same template with the same values ends the same way on every machine.
import { templateFault } from './template-fault.ts';
import { itemsOf, lengthOf, numberOf, sizeOf, textOf, type Value } from './values.ts';

/** What was given. */
export interface Given {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** What a callable has at hand. */
export interface Site {
  readonly budget: Budget;
  readonly line: number;
  /** Calls another filter or test by its name, for those that take one. */
  filter(name: string, value: Value, given: Given): Value;
  test(name: string, value: Value, given: Given): boolean;
}

/** A function of the template itself, or of this folder. */
export type Callable = (given: Given, site: Site) => Value;

/** The arguments in the order of `names`; a missing one is undefined. `what` is for messages. */
export function bind(
  what: string,
  names: readonly string[],
  { positional, named }: Given,
  line: number,
): Value[] {
  if (positional.length > names.length)
    throw templateFault(`"${what}" takes at most ${names.length} arguments here`, line);
  const values: Value[] = [...positional];
  for (const [name, value] of named) {
    const at = names.indexOf(name);
    if (at === -1 || at < positional.length)
      throw templateFault(`"${what}" has no argument "${name}" to be set`, line);
    values[at] = value;
  }
  return values;
}

/** Text of a bounded length. */
export function textFor(value: Value, site: Pick<Site, 'budget' | 'line'>): string {
  site.budget.make(sizeOf(value, ENOUGH), site.line);
  return textOf(value);
}

/** A value that was just made, paid for by all that it holds: what is in it twice counts twice. */
export function made<T extends Value>(value: T, { budget, line }: Pick<Site, 'budget' | 'line'>): T {
  budget.make(sizeOf(value, ENOUGH), line);
  return value;
}

/** More than any budget makes at once. */
const ENOUGH = 8 * 1024 * 1024;

export function integerFor(what: string, value: Value, fallback: number, site: Site): number {
  if (value === undefined) return fallback;
  const number = numberOf(value);
  if (!number || !Number.isInteger(number.n))
    throw templateFault(`"${what}" needs a whole number`, site.line);
  return number.n;
}

export function listFor(what: string, value: Value, site: Site): readonly Value[] {
  const items = itemsOf(value);
  if (!items) throw templateFault(`"${what}" needs something that can be gone through`, site.line);
  site.budget.make(items.length, site.line);
  return items;
}

export function lengthFor(value: Value, site: Site): number {
  const length = lengthOf(value);
  if (length === undefined) throw templateFault('what is counted has no length', site.line);
  return length;
}

export interface TemplateLimits {
  /** Characters of the result. */
  readonly maxOutput: number;
  /** Steps: one for each part that is evaluated, and one for every few characters or items that it makes. */
  readonly maxSteps: number;
}

/** A hundredth of a second or so. */
export const USUAL_LIMITS: TemplateLimits = { maxOutput: 1024 * 1024, maxSteps: 200_000 };

/** One text, or all items of one list: no step makes more. */
const MAX_SIZE = 4 * 1024 * 1024;
const SIZE_PER_STEP = 16;

export interface Budget {
  step(line: number): void;
  /** To be asked before something of this size is made. */
  make(size: number, line: number): void;
}

export function createBudget({ maxSteps }: TemplateLimits): Budget {
  let left = maxSteps;
  const spend = (steps: number, line: number) => {
    left -= steps;
    if (left < 0) throw templateFault('the template does too much', line);
  };
  return {
    step: (line) => spend(1, line),
    make(size, line) {
      if (!(size <= MAX_SIZE)) throw templateFault('the template makes something too large', line);
      spend(1 + size / SIZE_PER_STEP, line);
    },
  };
}
