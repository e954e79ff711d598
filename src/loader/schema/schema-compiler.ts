// Owns: the schema compiler of a runtime: checks made at build time first, the schema library only for the rest.
// Refuses: a stale check: a precompiled one is found by the digest of the very schema that it was made from.
import { canonicalJson } from '../../base/canonical-json.ts';
import { sha256Hex } from '../../base/digest.ts';
import type { JsonSchema, MaybePromise, SchemaCheck, SchemaCompiler } from '../../contract/json.ts';
import { problemsOf, type RawProblem } from './problems.ts';

/** A validator as the build writes it: true, or false with `errors`. */
export interface PrecompiledCheck {
  (value: unknown): boolean;
  errors?: readonly RawProblem[] | null;
}

export type PrecompiledChecks = { readonly [schemaDigest: string]: PrecompiledCheck };

export const schemaDigest = (schema: JsonSchema): string => sha256Hex(canonicalJson(schema));

export function createSchemaCompiler(precompiled: PrecompiledChecks = {}): SchemaCompiler {
  let loading: Promise<(schema: JsonSchema) => SchemaCheck> | undefined;
  return {
    compile(schema): MaybePromise<SchemaCheck> {
      const ready = Object.keys(precompiled).length > 0 ? precompiled[schemaDigest(schema)] : undefined;
      if (ready) return (value) => (ready(value) ? [] : problemsOf(ready.errors, schema));
      loading ??= import('./compile.ts').then((library) => library.createAjvCompiler());
      return loading.then((compile) => compile(schema));
    },
  };
}
