// Owns: `curl`, one HTTP request to a host that policy names.
// Refuses: to show cookies and other credentials of an answer: their names stay, their values do not.
import type { Redactor } from '../../base/redact/create-redactor.ts';
import { fail } from '../../contract/errors.ts';
import { type HttpResponse, type HttpTimings, parseHttpUrl } from '../../contract/http.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { defineBuiltin } from '../../contract/tool.ts';

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

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 5 * 1024 * 1024;
const MIB = 1024 * 1024;

const milliseconds = { type: 'number' } as const;

export const curl = defineBuiltin<CurlArgs, CurlData>({
  id: 'curl',
  title: 'Make an HTTP request',
  description:
    'Sends one HTTP or HTTPS request to a host that haft.yaml allows, and answers its status, headers and body (base64, decompressed). ' +
    'Any status is an answer, also 404 and 500. Up to three redirects are followed, each to an allowed host; credentials stay with the first one. ' +
    'Private and loopback addresses are refused unless haft.yaml names the host with private: true. ' +
    'A body over max_bytes is cut and truncated is true; with to_artifact the whole body is kept and its id answered. ' +
    'Values of cookies and other credentials in the answered headers and URLs are shown as [redacted].',
  tags: ['network', 'http'],
  idempotent: false,
  limits: { timeoutMs: TIMEOUT_MS, maxInputBytes: 16 * MIB, maxOutputBytes: 8 * MIB },
  input: {
    type: 'object',
    properties: {
      method: {
        enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
        default: 'GET',
        description:
          'GET, HEAD, OPTIONS, PUT and DELETE are tried again after a lost connection; others never.',
      },
      url: {
        type: 'string',
        minLength: 1,
        maxLength: 8192,
        description: 'http or https, without user and password.',
      },
      headers: {
        type: 'object',
        additionalProperties: { type: 'string', maxLength: 32_768 },
        default: {},
        description: 'Host, Connection, Content-Length and others that frame or route a message are refused.',
      },
      body: { type: ['string', 'null'], description: 'Sent as UTF-8. Not together with body_b64.' },
      body_b64: { type: 'string', contentEncoding: 'base64', description: 'For a body that is not text.' },
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        maximum: TIMEOUT_MS,
        default: TIMEOUT_MS,
        description: 'For everything: redirects, retries and the body.',
      },
      max_bytes: {
        type: 'integer',
        minimum: 0,
        maximum: MAX_BYTES,
        default: MAX_BYTES,
        description: 'The most bytes of the decompressed body to answer with.',
      },
      follow_redirects: {
        type: 'boolean',
        default: true,
        description: 'False: a redirect is answered like any other status.',
      },
      to_artifact: {
        type: 'boolean',
        default: false,
        description: 'Keep the whole body as an artifact, also beyond max_bytes.',
      },
    },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      status: { type: 'integer' },
      headers: {
        type: 'object',
        additionalProperties: { type: ['string', 'array'], items: { type: 'string' } },
        description: 'Names in lower case; a list where a header came more than once.',
      },
      body_b64: { type: 'string' },
      truncated: { type: 'boolean', description: 'The body was longer than max_bytes.' },
      url: { type: 'string', description: 'Where the answer came from, after redirects.' },
      redirects: {
        type: 'array',
        items: {
          type: 'object',
          properties: { status: { type: 'integer' }, url: { type: 'string' } },
          required: ['status', 'url'],
          additionalProperties: false,
        },
      },
      timings: {
        type: 'object',
        properties: {
          dns_ms: milliseconds,
          connect_ms: milliseconds,
          tls_ms: milliseconds,
          first_byte_ms: milliseconds,
          total_ms: milliseconds,
          reused: { type: 'boolean', description: 'The connection was already there.' },
        },
        required: ['dns_ms', 'connect_ms', 'tls_ms', 'first_byte_ms', 'total_ms', 'reused'],
        additionalProperties: false,
      },
      artifact: {
        type: 'object',
        properties: { id: { type: 'string' }, size: { type: 'integer' }, truncated: { type: 'boolean' } },
        required: ['id', 'size', 'truncated'],
        additionalProperties: false,
        description: 'The whole body. truncated: even that was over the limit of this host.',
      },
    },
    required: ['status', 'headers', 'body_b64', 'truncated', 'url', 'redirects', 'timings'],
    additionalProperties: false,
  },
  examples: [
    { title: 'Read a page', args: { url: 'https://doc.rust-lang.org/std/' } },
    {
      title: 'Send JSON',
      args: {
        method: 'POST',
        url: 'https://api.example.org/items',
        headers: { 'content-type': 'application/json' },
        body: '{"name":"a"}',
      },
    },
  ],
  effects: ({ url }) => [{ kind: 'net.connect', ...parseHttpUrl(url).target }],
  async run(args, ctx) {
    const body = bodyOf(args);
    const answering = ctx.http.request({
      url: args.url,
      method: args.method,
      headers: args.headers,
      timeoutMs: args.timeout_ms,
      maxBytes: args.max_bytes,
      maxRedirects: args.follow_redirects ? 3 : 0,
      toArtifact: args.to_artifact,
      ...(body === undefined ? {} : { body }),
    });
    // Not at the top: no other tool should wait for its table of formats. Nor does the request.
    const loading = import('../../base/redact/create-redactor.ts');
    const [response, { createRedactor }] = await Promise.all([answering, loading]);
    return shown(response, createRedactor());
  },
});

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

function shown(response: HttpResponse, redactor: Redactor): CurlData {
  const { status, truncated, artifact, timings } = response;
  return {
    status,
    headers: shownHeaders(response.headers, redactor),
    body_b64: Buffer.from(response.body).toString('base64'),
    truncated,
    url: redactor.text(response.url),
    redirects: response.redirects.map((hop) => ({ status: hop.status, url: redactor.text(hop.url) })),
    timings: shownTimings(timings),
    ...(artifact ? { artifact } : {}),
  };
}

/** Cookies keep their names and attributes; other headers go through the redactor, by name and by look. */
function shownHeaders(headers: HttpResponse['headers'], redactor: Redactor): CurlData['headers'] {
  const { 'set-cookie': cookies, ...others } = headers;
  const shownOthers = redactor.value(others);
  if (cookies === undefined) return shownOthers;
  const list = [cookies].flat().map((cookie) => cookie.replace(/=[^;]*/, '=[redacted]'));
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
