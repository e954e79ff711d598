// Owns: the credentials of this host: kept sealed (AES-256-GCM, bound to whose they are), checked against their schema, opened for one call.
// Refuses: to keep an opened value, to say one in a message, and to open what was sealed otherwise or changed since.
import { canonicalText } from '../../base/canonical-json.ts';
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
import type { JsonSchema, SchemaCheck, SchemaCompiler } from '../../contract/json.ts';

interface CredentialParts {
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

const toListing = (row: CredentialListing): CredentialListing => {
  const { provider, owner, fields, createdTs, updatedTs } = row;
  return { provider, owner, fields, createdTs, updatedTs };
};

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

/** Throws `credentials.schema` unless the secret fits every need of this provider. */
type SecretChecker = (provider: string, secret: Secret, needs: readonly CredentialNeed[]) => Promise<void>;

/** Compiles each schema once, for as long as whoever declared it lives. */
function createSecretChecker(schemas: SchemaCompiler): SecretChecker {
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
function secretValues({ schema }: CredentialNeed, secret: Secret): string[] {
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

interface Sealer {
  readonly keyId: string;
  seal(listing: CredentialListing, secret: Secret): SealedCredential;
  open(sealed: SealedCredential): Secret;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `key` is the host's; what is used here is derived from it, so that another use of that key says nothing about this one. */
export function createSealer(key: Uint8Array): Sealer {
  const crypto = process.getBuiltinModule('node:crypto');
  const derive = (use: string, bytes: number) => Buffer.from(crypto.hkdfSync('sha256', key, '', use, bytes));
  const sealing = derive('haft credentials v1', 32);
  const keyId = derive('haft credentials v1 key id', 8).toString('hex');
  return {
    keyId,
    seal(listing, secret) {
      const nonce = crypto.randomBytes(NONCE_BYTES);
      const cipher = crypto.createCipheriv('aes-256-gcm', sealing, nonce);
      cipher.setAAD(boundTo({ ...listing, keyId }));
      const sealed = Buffer.concat([cipher.update(canonicalText(secret), 'utf8'), cipher.final()]);
      const box = Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
      return { ...toListing(listing), keyId, box };
    },
    open(row) {
      const action = `Cannot open the credential of "${row.provider}"`;
      const bytes = Buffer.from(row.box, 'base64');
      if (bytes.length > NONCE_BYTES + TAG_BYTES && row.keyId !== keyId) {
        throw fail(
          'credentials.key',
          `${action}: it was encrypted with another key than this host's; set it again`,
        );
      }
      try {
        const nonce = bytes.subarray(0, NONCE_BYTES);
        const decipher = crypto.createDecipheriv('aes-256-gcm', sealing, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(boundTo(row));
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const sealed = bytes.subarray(NONCE_BYTES + TAG_BYTES);
        return JSON.parse(Buffer.concat([decipher.update(sealed), decipher.final()]).toString('utf8'));
      } catch {
        throw fail('credentials.tampered', `${action}: it is damaged or was changed; set it again`);
      }
    },
  };
}

/** Everything of the row that is not in the box. */
const boundTo = (row: CredentialListing & { readonly keyId: string }): Buffer =>
  Buffer.from(canonicalText({ ...toListing(row), keyId: row.keyId }));
