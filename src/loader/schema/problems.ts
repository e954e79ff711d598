// Owns: how a schema library's complaints become problems that a person or an agent can act on.
// Refuses: more than a handful: the first twenty are enough to mend a call.
import { closest } from '../../base/closest.ts';
import type { SchemaProblem } from '../../contract/json.ts';

/** The part of an Ajv error that is read here; validators compiled at build time produce the same. */
export interface RawProblem {
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly parentSchema?: unknown;
}

const MOST = 20;

export function problemsOf(raw: readonly RawProblem[] | null | undefined): readonly SchemaProblem[] {
  if (!raw || raw.length === 0) return [];
  return raw.slice(0, MOST).map((one) => ({
    path: one.instancePath,
    keyword: one.keyword,
    message: (MESSAGES[one.keyword] ?? plain)(one),
  }));
}

const plain = (one: RawProblem) => one.message ?? `fails "${one.keyword}"`;

const MESSAGES: Readonly<Record<string, (one: RawProblem) => string>> = {
  required: ({ params }) => `lacks "${params.missingProperty}"`,
  additionalProperties: ({ params, parentSchema }) => {
    const name = String(params.additionalProperty);
    const near = closest(
      name,
      Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {}),
    );
    return `has no property "${name.slice(0, 80)}"${near ? `; did you mean "${near}"?` : ''}`;
  },
  enum: ({ params }) =>
    `must be one of ${(params.allowedValues as unknown[]).map((v) => JSON.stringify(v)).join(', ')}`,
};
