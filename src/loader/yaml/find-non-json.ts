// Owns: finding what has no place in JSON: not-a-number, integers that are not what was written, halves of characters.
// Refuses: depth; parsers have bounded that.
import { describeFound, isUnreadable } from './located.ts';
import { type Way, wayOf } from './way.ts';

export interface NonJson {
  readonly way: Way | undefined;
  readonly fact: string;
  /** Whether a diagnostic was made of it already. */
  readonly told: boolean;
}

/** The first one, or undefined where all of it is JSON. Nothing is made as long as all is well. */
export function findNonJson(value: unknown, way: Way | undefined): NonJson | undefined {
  const found = find(value);
  return found && { way: wayOf(found.steps.reverse(), way), fact: found.fact, told: found.told };
}

/** The steps are from the inside to the outside. */
function find(value: unknown): Found | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : bad('it holds half a character');
  if (typeof value === 'number') return isExact(value) ? undefined : bad(`${NUMBER_FACT}: ${value}`);
  if (typeof value !== 'object' || value === null) return undefined;
  if (isUnreadable(value)) return bad(`found ${describeFound(value)}`, value.told);
  if (Array.isArray(value)) {
    for (let step = 0; step < value.length; step++) {
      const found = find(value[step]);
      if (found) return below(found, step);
    }
    return undefined;
  }
  for (const step of Object.keys(value)) {
    const found = step.isWellFormed()
      ? find((value as { readonly [key: string]: unknown })[step])
      : bad('its key holds half a character');
    if (found) return below(found, step);
  }
  return undefined;
}

interface Found extends Omit<NonJson, 'way'> {
  readonly steps: (string | number)[];
}

const bad = (fact: string, told = false): Found => ({ fact, told, steps: [] });

function below(found: Found, step: string | number): Found {
  found.steps.push(step);
  return found;
}

const NUMBER_FACT = 'it is a number that JSON cannot hold exactly';

/** Beyond 2^53 the digits would claim a precision that is not there; from 1e21 on there is an exponent. */
const isExact = (value: number): boolean =>
  Number.isFinite(value) && (Math.abs(value) <= Number.MAX_SAFE_INTEGER || Math.abs(value) >= 1e21);
