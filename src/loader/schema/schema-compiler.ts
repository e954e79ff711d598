// Owns: the schema compiler of a runtime: checks made at build time first, the schema library only for the rest.
// Refuses: a stale check: a precompiled one is found by the very text of the schema that it was made from.
import type {
  JsonSchema,
  MaybePromise,
  SchemaCheck,
  SchemaCompiler,
  SchemaProblem,
} from '../../contract/json.ts';

/** A validator as the build writes it: only whether the value fits. */
export type PrecompiledCheck = (value: unknown) => boolean;

/** By `JSON.stringify` of the schema: writing it out is cheaper than hashing it. */
export type PrecompiledChecks = { readonly [schemaText: string]: PrecompiledCheck };

export function createSchemaCompiler(precompiled: PrecompiledChecks = {}): SchemaCompiler {
  let loading: Promise<(schema: JsonSchema) => SchemaCheck> | undefined;
  const compileWhole = (schema: JsonSchema): Promise<SchemaCheck> => {
    loading ??= import('./compile.ts').then((library) => library.createAjvCompiler());
    return loading.then((compile) => compile(schema));
  };
  return {
    compile(schema): MaybePromise<SchemaCheck> {
      const fits = precompiled[JSON.stringify(schema)];
      if (!fits) return compileWhole(schema);
      // What is wrong, and all of it, is said by the whole library: a call that fails may take its time.
      return (value) => (fits(value) ? FITS : compileWhole(schema).then((check) => check(value)));
    },
  };
}

const FITS: readonly SchemaProblem[] = [];
