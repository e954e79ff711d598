// Owns: how a schema library's complaints become problems that a person or an agent can act on.
// Refuses: more than a handful: the first twenty are enough to mend a call.
import { closest } from '../../base/closest.ts';
import type { JsonSchema, SchemaProblem } from '../../contract/json.ts';

/** The part of an Ajv error that is read here. */
export interface RawProblem {
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const MOST = 20;

export function problemsOf(
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
  required: ({ params }) => `lacks "${params.missingProperty}"`,
  additionalProperties: ({ params, instancePath }, schema) => {
    const name = String(params.additionalProperty);
    // Arguments are flat nearly always; deeper down the name alone must do.
    const known =
      instancePath === '' ? Object.keys((schema as { properties?: object }).properties ?? {}) : [];
    const near = closest(name, known);
    return `has no property "${name.slice(0, 80)}"${near ? `; did you mean "${near}"?` : ''}`;
  },
  enum: ({ params }) =>
    `must be one of ${(params.allowedValues as unknown[]).map((v) => JSON.stringify(v)).join(', ')}`,
};
