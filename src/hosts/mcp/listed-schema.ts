// Owns: a tool's JSON Schema as clients list it: never a list as `type`, and of a builtin's arguments only what a model needs.
// Refuses: to decide calls: those are checked against the contract's own schema.
import { isRecord } from '../../base/is-record.ts';
import type { JsonSchema } from '../../contract/json.ts';
import { dialectOf } from '../../loader/schema/dialect.ts';
import { keywordOf, mapSchemas } from '../../loader/schema/keywords.ts';

type Words = Record<string, unknown>;

/** Inspector warns of `type: ["string", "null"]`, and some model providers refuse it: `anyOf` says the same. */
export function listedSchema(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema);
  return text.includes('"type":[') ? rewrite(schema, unionOf(!REF_INSIDE.test(text))) : schema;
}

/** The arguments of a builtin without what costs tokens and changes nothing that a model would send. */
export function briefSchema(schema: JsonSchema): JsonSchema {
  return rewrite(schema, (words) => {
    const kept = Object.entries(words).filter(([word, value]) => !isNoise(word, value));
    const brief: Words = Object.fromEntries(kept);
    // Null is as good as nothing: leaving the argument out says the same.
    if (Array.isArray(brief.type)) [brief.type] = brief.type.filter((type) => type !== 'null');
    if (!Array.isArray(brief.enum) || brief.enum.length <= LONG_ENUM) return brief;
    const { enum: _, ...rest } = brief;
    return { type: 'string', ...rest };
  });
}

/** A refusal names the words of a longer one. */
const LONG_ENUM = 16;

/** Limits that sensible calls do not meet (a refusal names them), and defaults that go without saying. */
function isNoise(word: string, value: unknown): boolean {
  if (word === 'default') return value === null || value === false || isEmpty(value);
  if (word === 'required') return isEmpty(value);
  if (word === 'additionalProperties') return value === false;
  return LIMITS.includes(word);
}

const LIMITS = [
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'pattern',
  'contentEncoding',
];

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** Every schema in a schema, innermost first, as `change` makes it. */
function rewrite(schema: JsonSchema, change: (words: Words) => Words): JsonSchema {
  const dialect = dialectOf(schema) ?? '2020-12';
  const walk = (one: unknown): unknown => {
    if (!isRecord(one)) return one;
    const entries = Object.entries(one).map(([word, value]) => {
      const holds = keywordOf(dialect, word)?.holds;
      return [word, holds ? mapSchemas(holds, value, walk) : value];
    });
    return change(Object.fromEntries(entries));
  };
  return walk(schema) as JsonSchema;
}

/** A reference to anything but a whole definition: what it leads to has to stay where it is. */
const REF_INSIDE = /"\$ref":"#(?!\/(?:\$defs|definitions)\/[^/"]+")/;

/** What belongs to one type goes to its branch: providers want `items` in the very schema that says "array". */
const WORDS_OF: { readonly [type: string]: readonly string[] } = {
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
  object: ['properties', 'required', 'additionalProperties', 'patternProperties'],
};

const unionOf =
  (mayMove: boolean) =>
  ({ type, ...rest }: Words): Words => {
    if (!Array.isArray(type)) return type === undefined ? rest : { type, ...rest };
    if (type.length === 1) return { type: type[0], ...rest };
    const only = (words: readonly string[], wanted: boolean) =>
      Object.fromEntries(Object.entries(rest).filter(([word]) => words.includes(word) === wanted));
    const moved = mayMove ? type.flatMap((one) => WORDS_OF[one] ?? []) : [];
    const anyOf = type.map((one) => ({ type: one, ...(mayMove ? only(WORDS_OF[one] ?? [], true) : {}) }));
    const shared: Words = only(moved, false);
    if (!('anyOf' in shared)) return { ...shared, anyOf };
    return { ...shared, allOf: [...((shared.allOf as unknown[] | undefined) ?? []), { anyOf }] };
  };
