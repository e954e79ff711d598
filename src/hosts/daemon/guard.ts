// Owns: who may talk to the daemon: the right token, the right Host, no foreign Origin.
// Refuses: to reveal which of them was wrong beyond what its reason says.
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Failure, fail } from '../../contract/errors.ts';

export interface Guard {
  /** The failure that a request with these headers gets, or undefined when it may go on. */
  check(headers: GuardedHeaders, needsToken: boolean): Failure | undefined;
}

interface GuardedHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly authorization?: string | undefined;
}

/** `names` are the host names that this server answers to, without ports. */
export function createGuard(token: string, names: readonly string[]): Guard {
  const expected = hash(token);
  const known = new Set(names.map((name) => name.toLowerCase()));
  return {
    check({ host, origin, authorization }, needsToken) {
      // A page that was rebound to this address still sends its own name.
      if (!known.has(hostName(host))) {
        return fail('auth.origin', 'Cannot answer: the Host header names another server');
      }
      if (origin !== undefined && origin.replace(/^https?:\/\//, '') !== host) {
        return fail('auth.origin', 'Cannot answer: the Origin header names another site');
      }
      if (!needsToken) return undefined;
      const given = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
      if (given === undefined || !timingSafeEqual(hash(given), expected)) {
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

const hostName = (host = '') =>
  (host.startsWith('[') ? host.slice(0, host.indexOf(']') + 1) : host.replace(/:\d+$/, '')).toLowerCase();
