// Owns: whether a secret is what its provider wants, and which of its values must never be seen.
// Refuses: to show a value in what it says.
import type { CredentialNeed, Secret } from '../../contract/credentials.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { JsonSchema, SchemaCheck, SchemaCompiler } from '../../contract/json.ts';

/** Throws `credentials.schema` unless the secret fits every need of this provider. */
export type SecretChecker = (
  provider: string,
  secret: Secret,
  needs: readonly CredentialNeed[],
) => Promise<void>;

/** Compiles each schema once, for as long as whoever declared it lives. */
export function createSecretChecker(schemas: SchemaCompiler): SecretChecker {
  const compiled = new WeakMap<object, SchemaCheck>();
  const checkOf = async (schema: JsonSchema): Promise<SchemaCheck> => {
    const known = typeof schema === 'object' ? compiled.get(schema) : undefined;
    if (known) return known;
    const check = await schemas.compile(schema);
    if (typeof schema === 'object') compiled.set(schema, check);
    return check;
  };
  return async (provider, secret, needs) => {
    const fact = shapeProblem(secret);
    if (fact !== undefined) throw misfit(provider, fact);
    for (const { schema } of needs.filter((need) => need.provider === provider)) {
      const problems = await (await checkOf(schema))({ ...secret });
      if (problems.length === 0) continue;
      throw misfit(provider, problems.map(({ path, message }) => `${path || 'it'} ${message}`).join('; '));
    }
  };
}

/**
 * Every field is secret, but for those whose schema says `writeOnly: false`: an account's name, whose every appearance in
 * a tool's answer would otherwise be blotted out.
 */
export function secretValues({ schema }: CredentialNeed, secret: Secret): string[] {
  const { properties = {} } = (typeof schema === 'object' ? schema : {}) as {
    readonly properties?: { readonly [field: string]: { readonly writeOnly?: unknown } | boolean };
  };
  const isOpen = (field: string): boolean => {
    const own = Object.hasOwn(properties, field) ? properties[field] : undefined;
    return typeof own === 'object' && own.writeOnly === false;
  };
  return Object.entries(secret).flatMap(([field, value]) => (isOpen(field) ? [] : [value]));
}

function shapeProblem(secret: Secret): string | undefined {
  const entries = Object.entries(secret);
  if (entries.length === 0) return 'it has no field';
  for (const [field, value] of entries) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(field))
      return `"${field.slice(0, 40)}" is not the name of a field; take letters, digits and _`;
    if (typeof value !== 'string' || value === '') return `field "${field}" is empty or no text`;
  }
  return undefined;
}

const misfit = (provider: string, fact: string): Failure =>
  fail('credentials.schema', `Cannot use the credential of "${provider}": ${fact}`);
