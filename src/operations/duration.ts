// Owns: arguments that take a length of time.
// Refuses: a number without a unit: nobody remembers whether it was hours or days.
import { fail } from '../contract/errors.ts';

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** Milliseconds. */
export function duration(name: string, given: string): number {
  const match = /^(\d{1,6})([hdw])$/.exec(given);
  if (match) return Number(match[1]) * UNITS[match[2]!]!;
  throw fail('usage', `Cannot use --${name} ${given}: it takes hours, days or weeks, such as 12h, 30d or 8w`);
}
