// Owns: where an answer leads on to, and what is sent there: as browsers do.
// Refuses: to carry secrets to another origin, and to leave https.
import { isSecretKey } from '../../base/redact/secret-keys.ts';
import { fail } from '../../contract/errors.ts';
import { type ParsedHttpUrl, parseHttpUrl } from '../../contract/http.ts';
import type { ResponseHead } from './exchange.ts';
import type { Headers } from './request-headers.ts';

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
  const headers = new Map(
    [...current.headers].filter(
      ([name]) => !(becomesGet && ABOUT_BODY.has(name)) && !(elsewhere && isOfOrigin(name)),
    ),
  );
  return {
    ...next,
    headers,
    method: becomesGet ? 'GET' : current.method,
    body: becomesGet ? null : current.body,
  };
}

function turnsIntoGet(status: number, method: string): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD';
  return (status === 301 || status === 302) && method === 'POST';
}

const ABOUT_BODY = new Set(['content-encoding', 'content-language', 'content-location', 'content-type']);

/** Said to one origin only: credentials of any name, and what would tell the next one where the request came from. */
const isOfOrigin = (name: string): boolean => isSecretKey(name) || name === 'referer' || name === 'origin';
