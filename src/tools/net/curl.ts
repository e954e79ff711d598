// Owns: `curl`, one HTTP request to a host that policy names.
// Refuses: to show cookies and other credentials of an answer: their names stay, their values do not.
import { once } from '../../base/once.ts';
import { parseHttpUrl } from '../../contract/http.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import type { CurlArgs, CurlData } from './run-curl.ts';

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 5 * 1024 * 1024;
const MIB = 1024 * 1024;

const milliseconds = { type: 'number' } as const;

/** Not at the top: no other tool should wait for it. */
const load = once(() => import('./run-curl.ts'));

export const curl = defineBuiltin<CurlArgs, CurlData>({
  id: 'curl',
  title: 'Make an HTTP request',
  description:
    'Send one HTTP request and return status, headers and body. Only hosts that haft.yaml allows can be reached. ' +
    'Any status is an answer, also 404. Credentials are redacted.',
  tags: ['network', 'http'],
  idempotent: false,
  limits: { timeoutMs: TIMEOUT_MS, maxInputBytes: 16 * MIB, maxOutputBytes: 8 * MIB },
  input: () => ({
    type: 'object',
    properties: {
      method: {
        enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
        default: 'GET',
        description: 'HTTP method.',
      },
      url: {
        type: 'string',
        minLength: 1,
        maxLength: 8192,
        description: 'http or https.',
      },
      headers: {
        type: 'object',
        additionalProperties: { type: 'string', maxLength: 32_768 },
        default: {},
        description: 'To send.',
      },
      body: { type: ['string', 'null'], description: 'Text to send.' },
      body_b64: { type: 'string', contentEncoding: 'base64', description: 'Binary to send.' },
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        maximum: TIMEOUT_MS,
        default: TIMEOUT_MS,
        description: 'For everything.',
      },
      max_bytes: {
        type: 'integer',
        minimum: 0,
        maximum: MAX_BYTES,
        default: MAX_BYTES,
        description: 'Of the body.',
      },
      follow_redirects: {
        type: 'boolean',
        default: true,
        description: 'Up to three.',
      },
      to_artifact: {
        type: 'boolean',
        default: false,
        description: 'Keep the whole body.',
      },
    },
    required: ['url'],
    additionalProperties: false,
  }),
  output: () => ({
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
  }),
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
  effects: ({ url, method }) => [{ kind: 'net.connect', ...parseHttpUrl(url).target, method }],
  run: async (args, ctx) => (await load()).runCurl(args, ctx),
});
