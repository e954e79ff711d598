// Owns: the words for JSON values and JSON Schemas, and how a schema check answers.
// Refuses: to know any schema library; compilers arrive through `SchemaCompiler`.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** A JSON Schema document, draft 2020-12 unless its `$schema` says draft-07. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** A value, or a promise of one: leaves answer synchronously where that is faster. */
export type MaybePromise<T> = T | Promise<T>;

/** One way in which a value does not fit its schema. `path` is a JSON pointer into the value. */
export interface SchemaProblem {
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
}

/**
 * Checks one value; fills in defaults in place. An empty list means that it fits. Telling what is wrong may take
 * longer than telling that something is: then it is a promise.
 */
export type SchemaCheck = (value: unknown) => MaybePromise<readonly SchemaProblem[]>;

/**
 * Turns a schema into a check. Synchronous where the check was compiled at build time, a promise
 * where the schema library has to be loaded first.
 */
export interface SchemaCompiler {
  /** `tool` and `side` say whose schema it is, for a compiler that has checks ready. */
  compile(schema: JsonSchema, tool?: string, side?: 'input' | 'output'): MaybePromise<SchemaCheck>;
}
