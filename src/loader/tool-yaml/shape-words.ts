// Owns: the words in which the tables of a manifest are written.
// Refuses: keys; those are in the tables.
import type {
  FlagShape,
  ListShape,
  NumberShape,
  SchemaShape,
  Shape,
  TextShape,
} from '../../contract/shape.ts';
import { NAMES, type TextCheck } from './text-checks.ts';

export const LARGEST = Number.MAX_SAFE_INTEGER;
/** Timers of the platform hold no more than this. */
export const LONGEST_MS = 2 ** 31 - 1;

export const text = (check: TextCheck, doc: string, more: Partial<TextShape> = {}): TextShape => ({
  is: 'text',
  check,
  doc,
  ...(Object.hasOwn(NAMES, check) ? { pattern: NAMES[check as keyof typeof NAMES].source } : {}),
  ...more,
});
export const flag = (doc: string, byDefault?: string): FlagShape => ({
  is: 'flag',
  doc,
  ...(byDefault ? { default: byDefault } : {}),
});
export const list = (item: Shape, doc: string, more: Partial<ListShape> = {}): ListShape => ({
  is: 'list',
  item,
  doc,
  ...more,
});
export const number = (
  doc: string,
  min: number,
  max: number,
  more: Partial<NumberShape> = {},
): NumberShape => ({
  is: 'number',
  doc,
  min,
  max,
  ...more,
});
export const schema = (doc: string): SchemaShape => ({ is: 'schema', doc, code: 'schema.type' });
