// Owns: the short words in which the table of haft.yaml is written.
// Refuses: keys; those are in the table.
import type { ListShape, NumberShape, Shape, TextShape } from '../../contract/shape.ts';
import type { TextCheck } from './text-checks.ts';

export const LARGEST = Number.MAX_SAFE_INTEGER;
/** Timers of the platform hold no more than this. */
export const LONGEST_MS = 2 ** 31 - 1;

export const text = (check: TextCheck, doc: string): TextShape => ({ is: 'text', check, doc });
export const list = (item: Shape, doc: string): ListShape => ({ is: 'list', item, doc });
export const number = (doc: string, min: number, max: number, byDefault: string): NumberShape => ({
  is: 'number',
  doc,
  min,
  max,
  default: byDefault,
});
