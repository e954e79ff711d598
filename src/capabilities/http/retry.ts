// Owns: whether and when a request is tried again.
// Refuses: methods that are not idempotent, and waiting beyond the deadline.
import type { ResponseHead } from './exchange.ts';

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
const PASSING = new Set([502, 503, 504]);
const LOST = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'HAFT_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
]);

const FIRST_MS = 100;
const MAX_MS = 2_000;

export const isIdempotent = (method: string): boolean => IDEMPOTENT.has(method);

export const isPassing = (head: ResponseHead): boolean => PASSING.has(head.status);

export const isLostConnection = (error: Error): boolean => LOST.has((error as { code?: string }).code ?? '');

/**
 * Milliseconds before the attempt after `attempts`; undefined where that would be after `remainingMs`. Random, so that
 * clients that failed together do not come back together; a server's `retry-after` is kept to.
 */
export function retryDelay(
  attempts: number,
  remainingMs: number,
  head?: ResponseHead,
  random: () => number = Math.random,
): number | undefined {
  const steps = Math.min(MAX_MS, FIRST_MS * 2 ** (attempts - 1));
  const delay = Math.max(steps / 2 + (steps / 2) * random(), askedDelay(head));
  return delay < remainingMs ? delay : undefined;
}

/** Only the form in seconds; a date needs clocks that agree. */
function askedDelay(head: ResponseHead | undefined): number {
  const asked = head?.headers['retry-after'];
  return typeof asked === 'string' && /^[0-9]{1,6}$/.test(asked) ? Number(asked) * 1000 : 0;
}
