// Owns: the credentials of packs: which a server needs by its config, which are set as far as is known, and logs of servers without them.
// Refuses: values: it knows providers and owners, and a call is never decided by it. Servers have none of users: one answers the calls of all sessions.
import { type LogFor, secretsOf } from '../../adapters/line-program.ts';
import { type CredentialNeed, type Credentials, userOf } from '../../contract/credentials.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { OpenPack, Runtime, SecretNeeds } from '../../contract/runtime.ts';
import { openPackLog, type PackLog } from '../../loader/pack-log.ts';
import { missingCredential, setCommand } from '../../runtime/credentials/create-credentials.ts';

export interface KnownCredentials {
  /** Undefined where none of them is required. */
  needsOf(needs: readonly CredentialNeed[]): SecretNeeds | undefined;
  /** Looks again. */
  refresh(): Promise<void>;
  /** Looks again every so often, until it is closed. */
  watch(): void;
  close(): void;
}

interface KnownCredentialsOptions {
  readonly credentials: Credentials;
  readonly sessions: Pick<Runtime['sessions'], 'get'>;
  /** Told when another credential is set than before. */
  changed(): void;
}

/** How long a person waits at most until a running host lists a tool whose credential was set. */
const LOOK_MS = 2_000;

export function createKnownCredentials(options: KnownCredentialsOptions): KnownCredentials {
  const { credentials, sessions } = options;
  let known = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  /** Nobody asks for a list while no tool needs anything. */
  let needed = false;

  /** By whomever: the tool can be used by somebody then. */
  const isSet = ({ provider, scope }: CredentialNeed): boolean =>
    (scope !== 'user' && known.has(`${provider} system`)) ||
    (scope !== 'system' && known.has(`${provider} user`));

  const refresh = async (): Promise<void> => {
    if (!needed) return;
    // Where the folder of credentials cannot be used at all, no credential is set; calls say why.
    const listed = await credentials.list().catch(() => []);
    const now = new Set(
      listed.map(({ provider, owner }) => `${provider} ${owner === '' ? 'system' : 'user'}`),
    );
    const same = now.size === known.size && [...now].every((one) => known.has(one));
    known = now;
    if (!same) options.changed();
  };

  return {
    needsOf(all) {
      const needs = all.filter(({ required }) => required);
      if (needs.length === 0) return undefined;
      needed = true;
      return {
        lacking: () => needs.filter((need) => !isSet(need)).map((need) => setCommand(need)),
        async require(sessionId) {
          const owner = userOf((await sessions.get(sessionId))?.attribution ?? null);
          const [missing] = await credentials.missing(needs, owner);
          if (missing) throw missingCredential(missing, owner);
        },
      };
    },
    refresh,
    watch() {
      timer ??= setInterval(() => void refresh(), LOOK_MS).unref();
    },
    close: () => clearInterval(timer),
  };
}

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
