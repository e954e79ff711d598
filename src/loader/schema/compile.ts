// Owns: turning any JSON Schema into a check, with regular expressions that cannot backtrack.
// Refuses: to be loaded before a schema needs it: this file brings the schema library in.
import { Ajv, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { closestArgument } from '../../base/closest-argument.ts';
import { isRecord } from '../../base/is-record.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonSchema, SchemaCheck, SchemaProblem } from '../../contract/json.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import { keywordOf, mapSchemas } from './keywords.ts';
import { linearRegExp } from './linear-reg-exp.ts';

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

type Keywords = { [name: string]: unknown };

function toAjvForm(schema: unknown, dialect: Dialect): unknown {
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

/** The part of an Ajv error that is read here. */
interface RawProblem {
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const MOST = 20;

function problemsOf(
  raw: readonly RawProblem[] | null | undefined,
  schema: JsonSchema,
): readonly SchemaProblem[] {
  if (!raw || raw.length === 0) return [];
  return raw.slice(0, MOST).map((one) => ({
    path: one.instancePath,
    keyword: one.keyword,
    message: (MESSAGES[one.keyword] ?? plain)(one, schema),
  }));
}

const plain = (one: RawProblem) => one.message ?? `fails "${one.keyword}"`;

const MESSAGES: Readonly<Record<string, (one: RawProblem, schema: JsonSchema) => string>> = {
  required: ({ params }) => `is missing "${params.missingProperty}"`,
  minLength: ({ params: { limit } }) =>
    limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`,
  maxLength: ({ params }) => `must have at most ${params.limit} characters`,
  minItems: ({ params: { limit } }) =>
    limit === 1 ? 'must not be empty' : `must have at least ${limit} items`,
  maxItems: ({ params }) => `must have at most ${params.limit} items`,
  additionalProperties: ({ params, instancePath }, schema) => {
    const name = String(params.additionalProperty);
    // Arguments are flat nearly always; deeper down the name alone must do.
    const known =
      instancePath === '' ? Object.keys((schema as { properties?: object }).properties ?? {}) : [];
    const near = closestArgument(name, known);
    return `has no property "${name.slice(0, 80)}"${near ? `; did you mean "${near}"?` : ''}`;
  },
  enum: ({ params }) =>
    `must be one of ${(params.allowedValues as unknown[]).map((v) => JSON.stringify(v)).join(', ')}`,
};
