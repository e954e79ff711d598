// Owns: finding what has no place in JSON: not-a-number, integers that are not what was written, halves of characters.
// Refuses: depth; parsers have bounded that.
import { describeFound, isUnreadable } from './located.ts';
import type { Way } from './way.ts';

export interface NonJson {
  readonly way: Way | undefined;
  readonly fact: string;
  /** Whether a diagnostic was made of it already. */
  readonly told: boolean;
}

/** The first one, or undefined where all of it is JSON. */
export function findNonJson(value: unknown, way: Way | undefined): NonJson | undefined {
  if (typeof value === 'string')
    return value.isWellFormed() ? undefined : bad(way, 'it holds half a character');
  if (typeof value === 'number') return isExact(value) ? undefined : bad(way, `${NUMBER_FACT}: ${value}`);
  if (typeof value !== 'object' || value === null) return undefined;
  if (isUnreadable(value)) return { way, fact: `found ${describeFound(value)}`, told: value.told };
  if (Array.isArray(value)) {
    for (let step = 0; step < value.length; step++) {
      const found = findNonJson(value[step], { up: way, step });
      if (found) return found;
    }
    return undefined;
  }
  for (const step of Object.keys(value)) {
    if (!step.isWellFormed()) return bad({ up: way, step }, 'its key holds half a character');
    const found = findNonJson((value as { [key: string]: unknown })[step], { up: way, step });
    if (found) return found;
  }
  return undefined;
}

const bad = (way: Way | undefined, fact: string): NonJson => ({ way, fact, told: false });
const NUMBER_FACT = 'it is a number that JSON cannot hold exactly';

/** Beyond 2^53 the digits would claim a precision that is not there; from 1e21 on there is an exponent. */
const isExact = (value: number): boolean =>
  Number.isFinite(value) && (Math.abs(value) <= Number.MAX_SAFE_INTEGER || Math.abs(value) >= 1e21);
