// Owns: whether two processes of a toolpack made the same of one call, and the first place where they did not.
// Refuses: to call anything almost equal.
import { jsonPointer } from '../../base/rejection.ts';

export interface Difference {
  /** A JSON pointer into the answer. */
  readonly path: string;
  readonly first: unknown;
  readonly second: unknown;
}

export function firstDifference(
  first: unknown,
  second: unknown,
  way: readonly (string | number)[] = [],
): Difference | undefined {
  if (Object.is(first, second)) return undefined;
  const here: Difference = { path: jsonPointer(way), first, second };
  if (!isContainer(first) || !isContainer(second) || Array.isArray(first) !== Array.isArray(second))
    return here;
  const [one, other] = [first as Record<string, unknown>, second as Record<string, unknown>];
  for (const key of [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()) {
    const below = firstDifference(one[key], other[key], [...way, key]);
    if (below) return below;
  }
  return undefined;
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;
