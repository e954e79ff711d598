// Owns: which credentials are set, as far as is known, so that a listing can say at once what a tool lacks.
// Refuses: values; it knows providers and owners. A call is never decided by it: that is asked anew.
import { type CredentialNeed, type Credentials, userOf } from '../../contract/credentials.ts';
import type { Runtime, SecretNeeds } from '../../contract/runtime.ts';
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

export interface KnownCredentialsOptions {
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
