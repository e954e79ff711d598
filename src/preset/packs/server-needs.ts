// Owns: the credentials of a pack that is a server: those that its config names, of the system.
// Refuses: those of users: one server answers the calls of all sessions.
import type { CredentialNeed, Credentials } from '../../contract/credentials.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { JsonObject, SchemaCompiler } from '../../contract/json.ts';
import { OWN_VARIABLE } from '../../contract/own-variable.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import type { ServerAdapter } from './follow-server.ts';

/** Which fields of them it uses is in its templates, so that nothing is known about their schema. */
export function serverNeeds({ credentials }: JsonObject): readonly CredentialNeed[] {
  const providers = Array.isArray(credentials) ? credentials : [];
  return providers.map((provider) => ({
    provider: String(provider),
    scope: 'system',
    required: true,
    schema: true,
    env: {},
    headers: {},
    context: true,
  }));
}

/** What a server was given, it may say: each of its answers passes the redactor of its secrets. */
export function serverSecrets(config: JsonObject, credentials: Credentials): Pick<OpenPack, 'secrets'> {
  const needs = serverNeeds(config);
  return needs.length === 0 ? {} : { secrets: () => credentials.resolve(needs, '') };
}

/** The same for why it could not be started. */
export async function withoutServerSecrets(
  thrown: unknown,
  config: JsonObject,
  credentials: Credentials,
): Promise<unknown> {
  const needs = serverNeeds(config);
  if (needs.length === 0 || !isFailure(thrown)) return thrown;
  const resolved = await credentials.resolve(needs, '').catch(() => undefined);
  if (!resolved) return thrown;
  const { redactor } = resolved;
  const { reason, message, details } = thrown;
  return fail(reason, redactor.text(message), details && redactor.value(details));
}

/** The key and the tokens of Haft are no server's, whatever its config says. */
export function refuseOwnVariables(pack: string, { env }: JsonObject): void {
  const { passthrough = [] } = (env ?? {}) as { readonly passthrough?: readonly string[] };
  const own = passthrough.find((name) => OWN_VARIABLE.test(name));
  if (own === undefined) return;
  const hint = 'name a secret that it needs under credentials';
  throw fail(
    'pack.invalid',
    `Cannot take the pack "${pack}": env.passthrough[${passthrough.indexOf(own)}] is ${own}, a variable of Haft itself; ${hint}`,
  );
}

/** All that is wrong with the config of a server: each begins with a JSON pointer into it. */
export async function configProblems(
  config: JsonObject,
  { config: schema, problemOf }: Pick<ServerAdapter, 'config' | 'problemOf'>,
  schemas: SchemaCompiler,
): Promise<readonly string[]> {
  if (schema === undefined) return [];
  const check = await schemas.compile(schema);
  const problems = (await check(config)).map(({ path, message }) => `${path} ${message}`);
  const further = problems.length === 0 ? problemOf?.(config) : undefined;
  return further === undefined ? problems : [further];
}
