// Owns: how `curl` asks and what of the answer is shown.
// Refuses: the values of cookies and other credentials: their names stay.
import { createRedactor } from '../../base/redact/create-redactor.ts';
import type { ToolContext } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { HttpResponse, HttpTimings } from '../../contract/http.ts';
import type { ObjectId } from '../../contract/object-store.ts';

export interface CurlArgs {
  readonly method: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string | null;
  readonly body_b64?: string;
  readonly timeout_ms: number;
  readonly max_bytes: number;
  readonly follow_redirects: boolean;
  readonly to_artifact: boolean;
}

export interface CurlData {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | readonly string[] };
  readonly body_b64: string;
  readonly truncated: boolean;
  readonly url: string;
  readonly redirects: readonly { readonly status: number; readonly url: string }[];
  readonly timings: {
    readonly dns_ms: number;
    readonly connect_ms: number;
    readonly tls_ms: number;
    readonly first_byte_ms: number;
    readonly total_ms: number;
    readonly reused: boolean;
  };
  readonly artifact?: { readonly id: ObjectId; readonly size: number; readonly truncated: boolean };
}

const REDACTOR = createRedactor();

export async function runCurl(args: CurlArgs, ctx: ToolContext): Promise<CurlData> {
  const body = bodyOf(args);
  const response = await ctx.http.request({
    url: args.url,
    method: args.method,
    headers: args.headers,
    timeoutMs: args.timeout_ms,
    maxBytes: args.max_bytes,
    maxRedirects: args.follow_redirects ? 3 : 0,
    toArtifact: args.to_artifact,
    ...(body === undefined ? {} : { body }),
  });
  return shown(response);
}

function bodyOf({ body, body_b64 }: CurlArgs): string | Uint8Array | undefined {
  if (body_b64 === undefined) return body ?? undefined;
  if (body !== undefined && body !== null) {
    throw fail('input.schema', 'Cannot send this request: it has both body and body_b64');
  }
  const text = body_b64.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.replaceAll('=', '').length % 4 === 1)
    throw fail('input.encoding', 'Cannot send this request: body_b64 is not base64');
  return Buffer.from(text, 'base64');
}

function shown(response: HttpResponse): CurlData {
  const { status, truncated, artifact, timings } = response;
  return {
    status,
    headers: shownHeaders(response.headers),
    body_b64: Buffer.from(response.body).toString('base64'),
    truncated,
    url: REDACTOR.text(response.url),
    redirects: response.redirects.map((hop) => ({ status: hop.status, url: REDACTOR.text(hop.url) })),
    timings: shownTimings(timings),
    ...(artifact ? { artifact } : {}),
  };
}

/** Cookies keep their names and attributes; other headers go through the redactor, by name and by look. */
function shownHeaders(headers: HttpResponse['headers']): CurlData['headers'] {
  const { 'set-cookie': cookies, ...others } = headers;
  const shownOthers = REDACTOR.value(others);
  if (cookies === undefined) return shownOthers;
  // One without a "=" has no name: all of it is the value.
  const list = [cookies]
    .flat()
    .map((cookie) => cookie.replace(/^([^;=]*=)?[^;]*/, (_, name = '') => `${name}[redacted]`));
  return { ...shownOthers, 'set-cookie': list.length === 1 ? list[0]! : list };
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000;

const shownTimings = ({ dns, connect, tls, firstByte, total, reused }: HttpTimings): CurlData['timings'] => ({
  dns_ms: round(dns),
  connect_ms: round(connect),
  tls_ms: round(tls),
  first_byte_ms: round(firstByte),
  total_ms: round(total),
  reused,
});
