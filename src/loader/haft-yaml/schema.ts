// Owns: the JSON Schema of haft.yaml, for editors, made from the table.
// Refuses: to be what decides; a file that fits the schema can still hold a pattern or a glob that means nothing.
import type { JsonSchema } from '../../contract/json.ts';
import { HAFT_YAML } from './haft-yaml-shape.ts';
import { applyShape, type ByShape, type Shape } from './shape.ts';

/** Draft 2020-12. Editors take it through `# yaml-language-server: $schema=…`. */
export function haftYamlSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'haft.yaml',
    ...schemaOf(HAFT_YAML),
  };
}

type Keywords = { readonly [keyword: string]: unknown };

const schemaOf = (shape: Shape): Keywords => ({ description: shape.doc, ...applyShape(KEYWORDS, shape) });

const KEYWORDS: ByShape<[], Keywords> = {
  text: () => ({ type: 'string', minLength: 1 }),
  choice: ({ of }) => ({ enum: of }),
  number: ({ min, max }) => ({ type: 'integer', minimum: min, maximum: max }),
  flag: () => ({ type: 'boolean' }),
  constant: ({ value }) => ({ const: value }),
  list: ({ item }) => ({ type: 'array', items: schemaOf(item) }),
  map: ({ keys, required, someOf }) => ({
    type: 'object',
    properties: Object.fromEntries(Object.entries(keys).map(([key, shape]) => [key, schemaOf(shape)])),
    additionalProperties: false,
    ...(required ? { required } : {}),
    ...(someOf ? { anyOf: someOf.map((key) => ({ required: [key] })) } : {}),
  }),
  shorthand: ({ text, map }) => ({ anyOf: [schemaOf(text), schemaOf(map)] }),
  open: () => ({ type: 'object' }),
};
