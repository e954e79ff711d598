// Owns: the schema compiler of a runtime: checks made at build time first, the schema library only for the rest.
// Refuses: a stale check: a precompiled one is found by the very text of the schema that it was made from.
import type {
  JsonSchema,
  MaybePromise,
  SchemaCheck,
  SchemaCompiler,
  SchemaProblem,
} from '../../contract/json.ts';

/** A validator as the build writes it: the text of its schema, and whether a value fits. */
export interface PrecompiledCheck {
  readonly text: string;
  readonly fits: (value: unknown) => boolean;
}

/** By tool id, each loaded when it is first called. */
export type PrecompiledChecks = {
  readonly [tool: string]: () => Promise<{
    readonly input: PrecompiledCheck;
    readonly output: PrecompiledCheck;
  }>;
};

export function createSchemaCompiler(precompiled: PrecompiledChecks = {}): SchemaCompiler {
  let loading: Promise<(schema: JsonSchema) => SchemaCheck> | undefined;
  const compileWhole = (schema: JsonSchema): Promise<SchemaCheck> => {
    loading ??= import('./compile.ts').then((library) => library.createAjvCompiler());
    return loading.then((compile) => compile(schema));
  };
  return {
    compile(schema, tool = '', side = 'input'): MaybePromise<SchemaCheck> {
      const load = Object.hasOwn(precompiled, tool) ? precompiled[tool] : undefined;
      if (!load) return compileWhole(schema);
      return load().then((ready) => {
        const { text, fits } = ready[side];
        if (text !== JSON.stringify(schema)) return compileWhole(schema);
        // What is wrong, and all of it, is said by the whole library: a call that fails may take its time.
        return (value) => (fits(value) ? FITS : compileWhole(schema).then((check) => check(value)));
      });
    },
  };
}

const FITS: readonly SchemaProblem[] = [];
