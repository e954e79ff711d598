// Owns: saying a schema so that Ajv means by it what the specification means.
// Refuses: changing what it means; each step has tests in the official suite that fail without it.
import type { Dialect } from './dialect.ts';
import { isRecord, keywordOf, mapSchemas } from './keywords.ts';

type Keywords = { [name: string]: unknown };

export function toAjvForm(schema: unknown, dialect: Dialect): unknown {
  const steps = mentions(schema, 'unevaluatedProperties')
    ? [withoutEmptyEnum, withoutIf]
    : [withoutEmptyEnum];
  const convert = (one: unknown): unknown => {
    if (!isRecord(one)) return one;
    const entries = Object.entries(one).map(([name, value]) => {
      const keyword = keywordOf(dialect, name);
      const holds = keyword?.holds && keyword.fits(value) ? keyword.holds : undefined;
      return [name, holds ? mapSchemas(holds, value, convert) : value];
    });
    return steps.reduce((keywords, step) => step(keywords), Object.fromEntries(entries) as Keywords);
  };
  return refersToRoot(schema) ? withRoot(convert(schema)) : convert(schema);
}

/** Ajv finds `#` only in a schema that has a name, or that it remembers for good. */
const withRoot = (schema: unknown): unknown =>
  isRecord(schema) && !schema.$id ? { ...schema, $id: 'haft:schema' } : schema;

const refersToRoot = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([name, one]) => (one === '#' ? ROOT_REFS.has(name) : refersToRoot(one)));

const ROOT_REFS = new Set(['$ref', '$dynamicRef']);

/** Nothing is in an empty list; Ajv takes it for a mistake. */
function withoutEmptyEnum(keywords: Keywords): Keywords {
  if (!Array.isArray(keywords.enum) || keywords.enum.length > 0) return keywords;
  const { enum: _, ...rest } = keywords;
  return alsoAll(rest, false);
}

/** Ajv counts what `if` looked at as evaluated, whichever way it came out, or not at all where a branch is missing. */
function withoutIf(keywords: Keywords): Keywords {
  if (!Object.hasOwn(keywords, 'if')) return keywords;
  const { if: condition, then: yes = true, else: no = true, ...rest } = keywords;
  return alsoAll(rest, { anyOf: [{ allOf: [condition, yes] }, { allOf: [{ not: condition }, no] }] });
}

const alsoAll = (keywords: Keywords, schema: unknown): Keywords => ({
  ...keywords,
  allOf: [...((keywords.allOf as unknown[] | undefined) ?? []), schema],
});

const mentions = (value: unknown, name: string): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, name) || Object.values(value).some((one) => mentions(one, name)));
