// Owns: which JSON Schema is spoken: draft 2020-12, or draft-07 where `$schema` says so.
// Refuses: other drafts; a schema that means something else than its author meant is worse than none.

export type Dialect = '2020-12' | 'draft-07';

/** `fallback` holds where there is no `$schema`; undefined is a dialect that is not spoken here. */
export function dialectOf(schema: unknown, fallback: Dialect = '2020-12'): Dialect | undefined {
  if (typeof schema !== 'object' || schema === null || !Object.hasOwn(schema, '$schema')) return fallback;
  const { $schema } = schema as { readonly $schema: unknown };
  return typeof $schema === 'string'
    ? DIALECTS[$schema.replace(/^https?:\/\//, '').replace(/#$/, '')]
    : undefined;
}

/** What to write as `$schema`. */
export const DIALECT_URIS: { readonly [D in Dialect]: string } = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema#',
};

const DIALECTS: { readonly [uri: string]: Dialect | undefined } = {
  __proto__: null as never,
  'json-schema.org/draft/2020-12/schema': '2020-12',
  'json-schema.org/draft-07/schema': 'draft-07',
};
