// Owns: the credentials of this host: kept sealed, checked against their schema, opened for a call and for nothing longer.
// Refuses: to keep an opened value, and to say one in a message.
import { createRedactor } from '../../base/redact/create-redactor.ts';
import type {
  CredentialFinding,
  CredentialKey,
  CredentialListing,
  CredentialNeed,
  CredentialRows,
  Credentials,
  SealedCredential,
  Secret,
} from '../../contract/credentials.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { SchemaCompiler } from '../../contract/json.ts';
import { createSecretChecker, secretValues } from './check-secret.ts';
import { createSealer, type Sealer } from './seal.ts';

export interface CredentialParts {
  /** The key of the host, or undefined where there is none yet. */
  readKey(): Uint8Array | undefined;
  /** The key of the host, made where there is none. */
  ensureKey(): Uint8Array;
  /** Those of the system, and those of users. */
  readonly system: CredentialRows;
  users(): Promise<CredentialRows>;
  readonly schemas: SchemaCompiler;
  readonly clock: { now(): number };
}

export function createCredentials(parts: CredentialParts): Credentials {
  const { clock } = parts;
  const checkSecret = createSecretChecker(parts.schemas);
  const rowsOf = async ({ owner }: CredentialKey) => (owner === '' ? parts.system : parts.users());
  const find = async (key: CredentialKey) => (await rowsOf(key)).get(key);
  const sealer = (): Sealer => {
    const key = parts.readKey();
    if (key) return createSealer(key);
    throw fail(
      'credentials.key',
      'Cannot open a credential: the key that it was encrypted with is gone; put it into HAFT_KEY, or set the credentials again',
    );
  };
  const all = async () => [...(await parts.system.list()), ...(await (await parts.users()).list())];

  /** The user's before the system's; never another user's. */
  const findFor = async ({ provider, scope }: CredentialNeed, owner: string) => {
    const users = scope !== 'system' && owner !== '' ? await find({ provider, owner }) : undefined;
    return users ?? (scope === 'user' ? undefined : await find({ provider, owner: '' }));
  };

  return {
    async set(key, secret, needs = []) {
      await checkSecret(key.provider, secret, needs);
      const rows = await rowsOf(key);
      const now = clock.now();
      const createdTs = (await rows.get(key))?.createdTs ?? now;
      const listing = { ...key, fields: Object.keys(secret).sort(), createdTs, updatedTs: now };
      await rows.put(createSealer(parts.ensureKey()).seal(listing, secret));
    },
    list: async () => (await all()).map(toListing),
    remove: async (key) => (await rowsOf(key)).remove(key),
    async check(needs = []) {
      const rows = await all();
      const findings: CredentialFinding[] = [];
      for (const row of rows) findings.push(await judge(row, needs));
      return findings;
    },
    async missing(needs, owner) {
      const found = await Promise.all(needs.map((need) => need.required && findFor(need, owner)));
      return needs.filter((_, at) => found[at] === undefined);
    },
    async resolve(needs, owner) {
      const secrets: Record<string, Secret> = {};
      const hidden: string[] = [];
      for (const need of needs) {
        const row = await findFor(need, owner);
        if (!row && need.required) throw missingCredential(need, owner);
        if (!row) continue;
        const secret = sealer().open(row);
        await checkSecret(need.provider, secret, [need]);
        secrets[need.provider] = secret;
        hidden.push(...secretValues(need, secret));
      }
      return { secrets, redactor: createRedactor({ secrets: hidden, guess: false }) };
    },
  };

  async function judge(row: SealedCredential, needs: readonly CredentialNeed[]): Promise<CredentialFinding> {
    const { provider, owner } = row;
    try {
      await checkSecret(provider, sealer().open(row), needs);
      return { provider, owner, ok: true };
    } catch (thrown) {
      if (!isFailure(thrown)) throw thrown;
      const reason = thrown.reason as NonNullable<CredentialFinding['reason']>;
      return { provider, owner, ok: false, message: thrown.message, reason };
    }
  }
}

const toListing = ({
  provider,
  owner,
  fields,
  createdTs,
  updatedTs,
}: SealedCredential): CredentialListing => ({
  provider,
  owner,
  fields,
  createdTs,
  updatedTs,
});

/** What a person types to set it. */
export function setCommand(
  { provider, scope }: Pick<CredentialNeed, 'provider' | 'scope'>,
  owner = '',
): string {
  if (scope !== 'user') return `haft credentials set ${provider}`;
  return `haft credentials set ${provider} --user ${owner === '' ? 'ID' : JSON.stringify(owner)}`;
}

export function missingCredential({ provider, scope }: CredentialNeed, owner: string): Failure {
  if (scope === 'user' && owner === '') {
    return fail(
      'credentials.missing',
      `Cannot use "${provider}": its credential belongs to a user, and the session is for none; open it with an attribution of {"user": …}`,
      { provider, scope },
    );
  }
  const command = setCommand({ provider, scope }, owner);
  return fail('credentials.missing', `Cannot use "${provider}": its credential is not set; ${command}`, {
    provider,
    scope,
    command,
  });
}
