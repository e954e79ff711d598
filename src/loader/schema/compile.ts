// Owns: turning any JSON Schema into a check, with regular expressions that cannot backtrack.
// Refuses: to be loaded before a schema needs it: this file brings the schema library in.
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { RE2JS } from 're2js';
import { fail } from '../../contract/errors.ts';
import type { JsonSchema, SchemaCheck } from '../../contract/json.ts';
import { problemsOf } from './problems.ts';

export function createAjvCompiler(): (schema: JsonSchema) => SchemaCheck {
  const ajv = new Ajv2020({ ...AJV_OPTIONS, allErrors: true, code: { regExp: linearRegExp } });
  formats.default(ajv);
  return (schema) => {
    try {
      const validate = ajv.compile(schema);
      return (value) => (validate(value) ? [] : problemsOf(validate.errors, schema));
    } catch (thrown) {
      throw fail(
        'pack.invalid',
        `Cannot compile a schema: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      );
    }
  };
}

/** Shared with the build, which writes the builtins' checks out as code. */
export const AJV_OPTIONS = {
  useDefaults: true,
  strict: false,
  validateFormats: true,
  addUsedSchema: false,
} as const;

/** Ajv keeps compiled patterns by their `toString()`, so that must tell any two apart. */
function linearRegExp(pattern: string, flags: string) {
  const compiled = RE2JS.compile(
    RE2JS.translateRegExp(pattern),
    flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0,
  );
  return {
    test: (text: string) => compiled.matcher(text).find(),
    toString: () => `re2:${flags}:${pattern}`,
    exec: () => null,
  } as unknown as RegExp;
}
linearRegExp.code = 'linearRegExp';
