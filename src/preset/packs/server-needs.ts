// Owns: the credentials of a pack that is a server, those of the system that its config names; and its log without them.
// Refuses: those of users: one server answers the calls of all sessions. Writing the log is loader/pack-log.ts.
import { type LogFor, secretsOf } from '../../adapters/line-program.ts';
import type { CredentialNeed, Credentials } from '../../contract/credentials.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import { openPackLog, type PackLog } from '../../loader/pack-log.ts';

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

interface ServerLogs {
  readonly logFor: LogFor;
  flush(): Promise<void>;
}

export function createServerLogs(folder: string, credentials: Credentials): ServerLogs {
  const logs = new Map<string, PackLog>();
  return {
    logFor({ name, config }, env) {
      const needs = serverNeeds(config);
      const redact = async (text: string): Promise<string> => {
        const { createRedactor } = await import('../../base/redact/create-redactor.ts');
        const own = createRedactor({ secrets: secretsOf(env) }).text(text);
        // Where they cannot be had any more, nothing is kept: see pack-log.ts.
        return needs.length === 0 ? own : (await credentials.resolve(needs, '')).redactor.text(own);
      };
      const log = openPackLog({ folder, name, redact });
      // Of one that was started before, what it said is still to be written, with the secrets of then.
      void logs.get(name)?.flush();
      logs.set(name, log);
      return log;
    },
    async flush() {
      await Promise.all([...logs.values()].map((log) => log.flush()));
    },
  };
}
