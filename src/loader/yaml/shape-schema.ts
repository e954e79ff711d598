// Owns: the JSON Schema of a file, for editors, made from its table.
// Refuses: to be what decides; a file that fits the schema can still hold a pattern or a path that means nothing.
import type { JsonSchema } from '../../contract/json.ts';
import { applyShape, type ByShape, type MapShape, type Shape } from '../../contract/shape.ts';

/** Draft 2020-12. Editors take it through `# yaml-language-server: $schema=…`. */
export function schemaOfShape(title: string, shape: Shape): JsonSchema {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title, ...schemaOf(shape) };
}

type Keywords = { readonly [keyword: string]: unknown };

const schemaOf = (shape: Shape): Keywords => ({ description: shape.doc, ...applyShape(KEYWORDS, shape) });

const mapOf = ({ keys, required, someOf }: MapShape): Keywords => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(keys).map(([key, shape]) => [key, schemaOf(shape)])),
  additionalProperties: false,
  ...(required ? { required } : {}),
  ...(someOf ? { anyOf: someOf.map((key) => ({ required: [key] })) } : {}),
});

const KEYWORDS: ByShape<[], Keywords> = {
  text: ({ pattern, empty }) => ({
    type: 'string',
    ...(empty ? {} : { minLength: 1 }),
    ...(pattern ? { pattern } : {}),
  }),
  choice: ({ of }) => ({ enum: of }),
  number: ({ min, max, fraction }) => ({
    type: fraction ? 'number' : 'integer',
    minimum: min,
    maximum: max,
  }),
  flag: () => ({ type: 'boolean' }),
  constant: ({ value }) => ({ const: value }),
  list: ({ item, least }) => ({
    type: 'array',
    items: schemaOf(item),
    ...(least ? { minItems: least } : {}),
  }),
  map: mapOf,
  record: ({ keyPattern, value }) => ({
    type: 'object',
    additionalProperties: schemaOf(value),
    ...(keyPattern ? { propertyNames: { pattern: keyPattern } } : {}),
  }),
  // Editors complete the keys of the variant that is chosen, and show one set of complaints and not five.
  variants: ({ key, by, of }) => ({
    type: 'object',
    required: [key],
    properties: { [key]: schemaOf(by) },
    allOf: Object.entries(of).map(([choice, map]) => ({
      if: { properties: { [key]: { const: choice } }, required: [key] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: mapOf(map),
    })),
  }),
  shorthand: ({ text, map }) => ({ anyOf: [schemaOf(text), schemaOf(map)] }),
  open: () => ({ type: 'object' }),
  json: () => ({}),
  schema: () => ({ type: 'object' }),
};
