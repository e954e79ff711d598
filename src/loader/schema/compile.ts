// Owns: turning any JSON Schema into a check, with regular expressions that cannot backtrack.
// Refuses: to be loaded before a schema needs it: this file brings the schema library in.
import { Ajv, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { fail } from '../../contract/errors.ts';
import type { JsonSchema, SchemaCheck } from '../../contract/json.ts';
import { toAjvForm } from './ajv-form.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import { linearRegExp } from './linear-reg-exp.ts';
import { problemsOf } from './problems.ts';

export function createAjvCompiler(): (schema: JsonSchema) => SchemaCheck {
  const validators: { [D in Dialect]?: Ajv } = {};
  return (schema) => {
    try {
      const dialect = dialectOf(schema);
      if (!dialect) throw new Error('its $schema is neither draft 2020-12 nor draft-07');
      validators[dialect] ??= CREATE[dialect]();
      const validate = validators[dialect].compile(toAjvForm(schema, dialect) as JsonSchema);
      return (value) => (fits(validate, value) ? [] : problemsOf(validate.errors, schema));
    } catch (thrown) {
      throw fail(
        'pack.invalid',
        `Cannot compile a schema: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      );
    }
  };
}

/** Values are bounded in depth; only a schema that applies itself to the same value again has no end. */
function fits(validate: ValidateFunction, value: unknown): boolean {
  try {
    return validate(value);
  } catch (thrown) {
    if ((thrown as Error).name !== 'RangeError') throw thrown;
    throw fail('pack.invalid', 'Cannot check a value: its schema refers to itself without end');
  }
}

/** Shared with the build, which writes the builtins' checks out as code. */
export const AJV_OPTIONS = {
  useDefaults: true,
  strict: false,
  validateFormats: true,
  addUsedSchema: false,
} as const;

const OPTIONS: Options = {
  ...AJV_OPTIONS,
  allErrors: true,
  // A property named toString is there only where the value itself has one.
  ownProperties: true,
  code: { regExp: linearRegExp },
  logger: false,
};

const CREATE: { readonly [D in Dialect]: () => Ajv } = {
  '2020-12': () => withFormats(new Ajv2020(OPTIONS)),
  'draft-07': () => withFormats(new Ajv(OPTIONS)),
};

function withFormats(ajv: Ajv): Ajv {
  formats.default(ajv);
  return ajv;
}
