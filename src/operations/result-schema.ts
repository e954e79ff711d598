// Owns: short words for the schemas of results.
// Refuses: to check anything; doors and tests do.
import type { JsonSchema } from '../contract/json.ts';

/** Fields that are always there. Those that may be are in `more`. */
export const document = (
  fields: Readonly<Record<string, JsonSchema>>,
  more: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema => ({
  type: 'object',
  properties: { ...fields, ...more },
  required: Object.keys(fields),
});

export const list = (description: string, items: JsonSchema = { type: 'object' }): JsonSchema => ({
  type: 'array',
  items,
  description,
});

export const TEXT: JsonSchema = { type: 'string' };
export const TEXTS: JsonSchema = { type: 'array', items: TEXT };
export const COUNT: JsonSchema = { type: 'integer' };
export const YES: JsonSchema = { type: 'boolean' };
