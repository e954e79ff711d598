// Owns: flags that take a length of time, and sizes as people read them.
// Refuses: a number without a unit: nobody remembers whether it was hours or days.
import { fail } from '../../contract/errors.ts';
import type { Invocation } from './command.ts';

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** Milliseconds. */
export function duration(name: string, given: Invocation['flags'][string]): number {
  const match = /^(\d{1,6})([hdw])$/.exec(String(given));
  if (match) return Number(match[1]) * UNITS[match[2]!]!;
  throw fail(
    'usage',
    `Cannot use --${name} ${String(given)}: it takes hours, days or weeks, such as 12h, 30d or 8w`,
  );
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function shownSize(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < SIZES.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${SIZES[unit]}`;
}
