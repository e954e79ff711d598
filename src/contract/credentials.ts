// Owns: the secrets that tools need: whose they are, how they lie on the disk, how a call gets them.
// Refuses: every other way for a value: into a prompt, a log, a hash, an audit row or an error message.
import type { Redactor } from '../base/redact/create-redactor.ts';
import type { Secrets } from './adapter.ts';
import { fail } from './errors.ts';
import type { YamlCredential } from './yaml-tool.ts';

/** What one provider wants: texts by field. A plain token is `{token}`. */
export type Secret = { readonly [field: string]: string };

/** A credential as a tool declares that it needs it. */
export type CredentialNeed = YamlCredential;

export interface CredentialKey {
  /** `[a-z][a-z0-9_-]*`, such as `github`. */
  readonly provider: string;
  /**
   * The user whom a session was opened for, by `userOf`. '' is the system: whoever runs Haft on this machine, in
   * every workspace.
   */
  readonly owner: string;
}

export interface CredentialListing extends CredentialKey {
  /** Names only. */
  readonly fields: readonly string[];
  readonly createdTs: number;
  readonly updatedTs: number;
}

/**
 * A credential as it lies on the disk. Everything but `box` can be read by whoever has the file; nothing of it can be
 * changed, or put in another's place, without being noticed.
 */
export interface SealedCredential extends CredentialListing {
  /** Tells keys apart, and nothing about them. */
  readonly keyId: string;
  /** base64 of a nonce of 12 bytes, a tag of 16 bytes, and the secret under AES-256-GCM. */
  readonly box: string;
}

/** Where sealed credentials are kept. Knows no key. */
export interface CredentialRows {
  /** Durable when it answers. Takes the place of what was kept for the same owner and provider. */
  put(row: SealedCredential): Promise<void>;
  get(key: CredentialKey): Promise<SealedCredential | undefined>;
  /** Sorted by provider, then by owner. */
  list(): Promise<readonly SealedCredential[]>;
  /** Answers whether there was one. */
  remove(key: CredentialKey): Promise<boolean>;
}

/**
 * The credentials of this host. Failures: `credentials.missing`, `credentials.key` (no key, a malformed one, another
 * one), `credentials.tampered`, `credentials.schema`.
 */
export interface Credentials {
  /** Keeps it, encrypted, once it fits the schema of every need of that provider. Makes the key where there is none. */
  set(key: CredentialKey, secret: Secret, needs?: readonly CredentialNeed[]): Promise<void>;
  list(): Promise<readonly CredentialListing[]>;
  remove(key: CredentialKey): Promise<boolean>;
  /** Opens every credential, holds it to the needs of its provider, and lets go of it again. */
  check(needs?: readonly CredentialNeed[]): Promise<readonly CredentialFinding[]>;
  /** The required needs that nobody has set anything for: why a tool is listed as disabled. Opens nothing. */
  missing(needs: readonly CredentialNeed[], owner: string): Promise<readonly CredentialNeed[]>;
  /** What a call gets, at the last moment before it runs. Throws where a required one is missing or cannot be opened. */
  resolve(needs: readonly CredentialNeed[], owner: string): Promise<ResolvedCredentials>;
}

export interface CredentialFinding extends CredentialKey {
  readonly ok: boolean;
  /** Why not, in the words of the failure; never the value. */
  readonly message?: string;
  readonly reason?: 'credentials.key' | 'credentials.tampered' | 'credentials.schema';
}

/** For one call. Dropped with it. */
export interface ResolvedCredentials {
  readonly secrets: Secrets;
  /**
   * Knows these values in every form in which they can come back. Whatever leaves the call passes it: data, error
   * messages, progress, output events, spilled artifacts.
   */
  readonly redactor: Redactor;
}

/**
 * The user that a session is for. Take the session's own attribution: what a call says about itself in its arguments
 * must not choose whose secrets it gets.
 */
export function userOf(attribution: { readonly [key: string]: unknown } | null): string {
  const user = attribution?.user ?? attribution?.user_id;
  return typeof user === 'string' ? user : '';
}

export interface Injection {
  readonly env: { readonly [name: string]: string };
  readonly headers: { readonly [name: string]: string };
  /** What templates see as `credentials`: those of the needs with `context`. */
  readonly context: Secrets;
}

/** Pure. Needs without a secret (optional ones that nobody set) put nothing anywhere. */
export function injectCredentials(needs: readonly CredentialNeed[], secrets: Secrets): Injection {
  const env: Record<string, string> = {};
  const headers: Record<string, string> = {};
  const context: Record<string, Secrets[string]> = {};
  for (const need of needs) {
    const { provider } = need;
    const secret = Object.hasOwn(secrets, provider) ? secrets[provider] : undefined;
    if (!secret) continue;
    const fieldOf = (field: string): string => {
      if (Object.hasOwn(secret, field)) return secret[field]!;
      throw fail(
        'credentials.schema',
        `Cannot use the credential of "${provider}": it has no field "${field}"`,
      );
    };
    for (const [name, field] of Object.entries(need.env)) env[name] = fieldOf(field);
    for (const [name, template] of Object.entries(need.headers)) {
      headers[name] = headerValue(
        provider,
        name,
        template.replaceAll(FIELD, (_, field) => fieldOf(field)),
      );
    }
    if (need.context) context[provider] = secret;
  }
  return { env, headers, context };
}

/** `{{ token }}`: a field of the secret, and nothing else that templates have. */
const FIELD = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

function headerValue(provider: string, name: string, value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value;
  throw fail(
    'credentials.schema',
    `Cannot send header "${name}": the credential of "${provider}" holds a character that headers cannot`,
  );
}
