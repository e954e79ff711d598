// Owns: who may talk to the daemon: the right token, the right Host, no foreign Origin.
// Refuses: to reveal which of them was wrong beyond what its reason says; to guess what a malformed header meant.
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Failure, fail } from '../../contract/errors.ts';

export interface Guard {
  /** The failure that a request with these headers gets, or undefined when it may go on. */
  check(headers: GuardedHeaders, needsToken: boolean): Failure | undefined;
}

/** Every value that was sent, in order: what is there twice is read as one thing by us and as another by a proxy. */
export type GuardedHeaders = Readonly<
  Partial<Record<'host' | 'origin' | 'authorization', readonly string[] | undefined>>
>;

/** `names` are the host names and addresses that this server answers to, without ports. */
export function createGuard(token: string, names: readonly string[]): Guard {
  const expected = hash(token);
  const known = new Set(names.map((name) => (name.includes(':') ? `[${name}]` : name).toLowerCase()));
  return {
    check(headers, needsToken) {
      const { host: hosts = [], origin: origins = [], authorization: authorizations = [] } = headers;
      // A page that was rebound to this address still sends its own name.
      const host = hosts.length === 1 ? hosts[0]!.toLowerCase() : '';
      if (!known.has(hostName(host)))
        return fail('auth.origin', 'Cannot answer: the Host header names another server');
      // This server speaks http. A proxy that speaks TLS stands in front of names that other machines know.
      const own = [`http://${host}`, ...(isLoopback(hostName(host)) ? [] : [`https://${host}`])];
      if (origins.some((origin) => !own.includes(origin)))
        return fail('auth.origin', 'Cannot answer: the Origin header names another site');
      if (!needsToken) return undefined;
      const given = authorizations.length === 1 && /^Bearer +(\S+)$/i.exec(authorizations[0]!)?.[1];
      if (!given || !timingSafeEqual(hash(given), expected)) {
        return fail(
          'auth.required',
          'Cannot answer: send the header "Authorization: Bearer <token>" with the token that haft serve printed for it',
        );
      }
      return undefined;
    },
  };
}

const hash = (text: string) => createHash('sha256').update(text).digest();

const isLoopback = (name: string): boolean =>
  /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])\.?$/.test(name);

/** `name` or `name:port`, and nothing else: no user, no path, nothing after a bracket. Otherwise a name that none has. */
function hostName(host: string): string {
  const [, name = '', port] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/.exec(host) ?? [];
  return port === undefined || (Number(port) >= 1 && Number(port) <= 65_535) ? name : '';
}
