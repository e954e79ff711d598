// Owns: short words for the schemas of arguments and results.
// Refuses: to check values, which doors do; but for lengths of time, a number without a unit: nobody remembers whether it was hours or days.
import { fail } from '../contract/errors.ts';
import type { JsonSchema } from '../contract/json.ts';
import type { Argument } from '../contract/operation.ts';

/** Fields that are always there. Those that may be are in `more`. */
export const document = (
  fields: Readonly<Record<string, JsonSchema>>,
  more: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema => ({ type: 'object', properties: { ...fields, ...more }, required: Object.keys(fields) });

export const list = (description: string, items: JsonSchema = { type: 'object' }): JsonSchema => ({
  type: 'array',
  items,
  description,
});

export const TEXT: JsonSchema = { type: 'string' };
export const TEXTS: JsonSchema = { type: 'array', items: TEXT };
export const COUNT: JsonSchema = { type: 'integer' };
export const YES: JsonSchema = { type: 'boolean' };

/** A flag with a value. */
export const text = (placeholder: string, description: string): Argument => ({
  type: 'string',
  placeholder,
  description,
});

/** How many, from 1 on. */
export const count = (usual: number, description: string): Argument => ({
  type: 'integer',
  minimum: 1,
  default: usual,
  placeholder: 'N',
  description,
});

export const flag = (description: string): Argument => ({ type: 'boolean', description });

export const word = (description: string): Argument => ({ ...optionalWord(description), required: true });

export const optionalWord = (description: string): Argument => ({
  type: 'string',
  positional: true,
  description,
});

export const words = (maxItems: number, description: string): Argument => ({
  type: 'array',
  positional: true,
  maxItems,
  description,
});

/** Only on the command line. */
export const local = (argument: Argument): Argument => ({ ...argument, local: true });

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** Milliseconds. */
export function duration(name: string, given: string): number {
  const match = /^(\d{1,6})([hdw])$/.exec(given);
  if (match) return Number(match[1]) * UNITS[match[2]!]!;
  throw fail('usage', `Cannot use --${name} ${given}: it takes hours, days or weeks, such as 12h, 30d or 8w`);
}
