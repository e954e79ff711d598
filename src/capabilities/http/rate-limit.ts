// Owns: how often each host may be asked: a bucket that fills at a steady rate.
// Refuses: to keep anything outside of the object it answers with.
import { fail } from '../../contract/errors.ts';

export interface RateLimitOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** Who would have to wait for longer is refused. */
  readonly maxWaitMs: number;
}

export interface RateLimit {
  /** Takes a turn; answers how many milliseconds to wait for it. Throws `http.rate`. */
  take(host: string, now: number): number;
}

const MAX_HOSTS = 1024;

export function createRateLimit({ perSecond, burst, maxWaitMs }: RateLimitOptions): RateLimit {
  /** When a bucket was, or will be, empty of debts: the time at which its host has `burst` turns again. */
  const fullAt = new Map<string, number>();
  const each = 1000 / perSecond;
  return {
    take(host, now) {
      const full = Math.max(fullAt.get(host) ?? 0, now) + each;
      const wait = Math.max(0, full - now - burst * each);
      if (wait > maxWaitMs) {
        const message = `Cannot request ${host}: it was asked more than ${perSecond} times a second`;
        throw fail('http.rate', message, { host, retry_after_ms: Math.ceil(wait) });
      }
      if (fullAt.size >= MAX_HOSTS) for (const [name, at] of fullAt) if (at <= now) fullAt.delete(name);
      fullAt.set(host, full);
      return wait;
    },
  };
}
