// Owns: what a shape says, twice: a table of keys as Markdown, the part of a reference page that must not lie, and the JSON Schema for editors.
// Refuses: the prose around it, and to be what decides: a file that fits the schema can still hold a pattern or a path that means nothing.
import type { JsonSchema } from '../src/contract/json.ts';
import { applyShape, type ByShape, type MapShape, type Shape } from '../src/contract/shape.ts';
import { expected } from '../src/loader/yaml/check-shape.ts';

/** One section for each key of the file. */
export function sectionsOf(root: MapShape): string[] {
  return Object.entries(root.keys).map(([key, shape]) => {
    const rows = rowsOf(key, shape);
    const facts = rows.length > 0 ? '' : `\n\n${capital(expected(shape))}.${defaultOf(shape)}`;
    const table = rows.length > 0 ? `\n\n${HEAD}\n${rows.join('\n')}` : '';
    return `## \`${key}\`\n\n${shape.doc}${required(root, key) ? ' Required.' : ''}${facts}${table}`;
  });
}

const HEAD = '| key | value | default | meaning |\n|---|---|---|---|';

/** One row for each key below this one. */
function rowsOf(path: string, shape: Shape): string[] {
  if (shape.is === 'list') return [...listRow(path, shape), ...rowsOf(`${path}[]`, shape.item)];
  if (shape.is === 'shorthand') return rowsOf(path, shape.map);
  if (shape.is === 'record') return rowsOf(`${path}.${shape.keyName}`, shape.value);
  if (shape.is === 'variants') return variantRows(path, shape);
  if (shape.is !== 'map') return [];
  return Object.entries(shape.keys).flatMap(([key, inner]) => rowAndBelow(path, key, inner, shape));
}

function rowAndBelow(path: string, key: string, inner: Shape, shape: MapShape, note = ''): string[] {
  const where = `${path}.${key}`;
  const fallback = inner.default ?? (required(shape, key) ? 'required' : '–');
  const row = `| \`${where}\`${note} | ${cell(expected(inner))} | ${cell(fallback)} | ${cell(inner.doc)} |`;
  return [row, ...rowsOf(where, inner)];
}

function variantRows(path: string, shape: Extract<Shape, { is: 'variants' }>): string[] {
  const head = `| \`${path}.${shape.key}\` | ${expected(shape.by)} | required | ${cell(shape.by.doc)} |`;
  const rows = Object.entries(shape.of).flatMap(([choice, map]) =>
    Object.entries(map.keys)
      .filter(([key]) => key !== shape.key)
      .flatMap(([key, inner]) => rowAndBelow(path, key, inner, map, ` (${choice})`)),
  );
  return [head, ...rows];
}

/** A list at the top has no row of its own; its entries do. */
function listRow(path: string, { item }: Shape & { is: 'list' }): string[] {
  const plain = item.is === 'text' || item.is === 'shorthand';
  return plain ? [`| \`${path}[]\` | ${cell(expected(item))} | – | ${cell(item.doc)} |`] : [];
}

const required = (shape: MapShape, key: string): boolean => shape.required?.includes(key) ?? false;
const defaultOf = (shape: Shape): string => (shape.default ? ` Default: ${shape.default}.` : '');
const cell = (text: string): string => text.replaceAll('|', '\\|');
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

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
