// Owns: whether and when a request is tried again; where an answer leads on to, and what is sent there: as browsers do.
// Refuses: to repeat methods that are not idempotent, to wait beyond the deadline, to carry to another origin what was meant for
// this one, a body or a header, and to leave https.

import { fail } from '../../contract/errors.ts';
import { type ParsedHttpUrl, parseHttpUrl } from '../../contract/http.ts';
import type { ResponseHead } from './exchange.ts';
import type { Headers } from './request-headers.ts';

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

export interface Outgoing extends ParsedHttpUrl {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | null;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The `location` of an answer that leads on; undefined for any other answer. */
export function locationOf({ status, headers }: ResponseHead): string | undefined {
  const { location } = headers;
  return REDIRECTS.has(status) && typeof location === 'string' && location !== '' ? location : undefined;
}

export function nextHop(current: Outgoing, status: number, location: string): Outgoing {
  const next = parseHttpUrl(location.trim(), current.url);
  if (current.target.scheme === 'https' && next.target.scheme !== 'https') {
    const message = `Cannot follow the redirect of ${current.url.origin}: it leads from https to http`;
    throw fail('http.downgrade', message, { from: current.url.origin, to: next.url.origin });
  }
  const becomesGet = turnsIntoGet(status, current.method);
  const elsewhere = next.url.origin !== current.url.origin;
  const body = becomesGet ? null : current.body;
  if (elsewhere && body !== null && body.length > 0) {
    const [from, to] = [current.url.origin, next.url.origin];
    const message = `Cannot follow the redirect (${status}) of ${from}: it would carry the body of this ${current.method} to ${to}, which is another origin; if it is meant for that one, send it there in a request of its own`;
    throw fail('http.redirect_body', message, { from, to });
  }
  const headers = new Map(
    [...current.headers].filter(([name]) =>
      elsewhere ? FOR_ANY_ORIGIN.has(name) : !(becomesGet && ABOUT_BODY.has(name)),
    ),
  );
  return { ...next, headers, method: becomesGet ? 'GET' : current.method, body };
}

function turnsIntoGet(status: number, method: string): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD';
  return (status === 301 || status === 302) && method === 'POST';
}

const ABOUT_BODY = new Set(['content-encoding', 'content-language', 'content-location', 'content-type']);

/** What says nothing of who asks. Any other header may be a credential, whatever its name. */
const FOR_ANY_ORIGIN = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'pragma',
  'range',
  'user-agent',
]);
