// Owns: how deep a value of somebody else may be nested before anybody walks through it.
// Refuses: to go any deeper itself.
import { MAX_DEPTH } from './canonical-json.ts';

export { MAX_DEPTH };

/** Whether more than `most` arrays and objects lie inside each other. */
export function isNestedDeeper(value: unknown, most: number = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (most === 0) return true;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const part of parts) if (isNestedDeeper(part, most - 1)) return true;
  return false;
}
