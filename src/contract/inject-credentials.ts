// Owns: where a tool's declaration puts each field of its secrets: environment, headers, template context.
// Refuses: to know where secrets come from, and a header that a secret's value would break out of.
import type { Secrets } from './adapter.ts';
import type { CredentialNeed } from './credentials.ts';
import { fail } from './errors.ts';

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
