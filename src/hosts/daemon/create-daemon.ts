// Owns: the HTTP door: `/v1/call`, `/v1/tools`, `/v1/approvals`, `/healthz`, each a view over the runtime.
// Refuses: decisions of its own; statuses come from the error table.
import { randomBytes } from 'node:crypto';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { parseStrict } from '../../base/strict-json.ts';
import { type ErrorMessage, fromToolRequest, toToolResponse } from '../../contract/envelope.ts';
import { ERRORS, fail, isFailure, type Reason, toErrorEntry } from '../../contract/errors.ts';
import type { Runtime } from '../../contract/runtime.ts';
import { approvalToWire, toolToWire } from '../../contract/spelling.ts';
import { createGuard } from './guard.ts';

export interface DaemonOptions {
  readonly runtime: Runtime;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  /** For calls. Made up when absent. */
  readonly token?: string;
  /** For answering approvals: another one, so that who calls a tool cannot approve its own call. Made up when absent. */
  readonly approvalToken?: string;
  readonly maxBodyBytes?: number;
}

export interface Daemon {
  readonly address: string;
  readonly token: string;
  readonly approvalToken: string;
  close(): Promise<void>;
}

const LARGEST_BODY = 64 * 1024 * 1024;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

export async function createDaemon(options: DaemonOptions): Promise<Daemon> {
  const { runtime, version, host, port } = options;
  const { token = newToken(), approvalToken = newToken() } = options;
  const names = [...LOOPBACK, host];
  const guards = { calls: createGuard(token, names), approvals: createGuard(approvalToken, names) };
  const limit = options.maxBodyBytes ?? LARGEST_BODY;
  const server = fastify({ bodyLimit: limit, forceCloseConnections: true });

  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseBody(body as Buffer));
    } catch (thrown) {
      done(thrown as Error);
    }
  });
  server.setErrorHandler((error, _request, reply) => refuse(reply, toFailure(error, limit)));
  server.setNotFoundHandler((request, reply) =>
    refuse(
      reply,
      fail('usage', `Cannot answer ${request.method} ${request.url.slice(0, 80)}: there is no such route`),
      404,
    ),
  );
  server.addHook('onRequest', async (request, reply) => {
    const { url } = request.routeOptions;
    const guard = url?.startsWith('/v1/approvals') ? guards.approvals : guards.calls;
    const refusal = guard.check(request.headers, url !== '/healthz');
    if (refusal) return refuse(reply, refusal);
  });
  addRoutes(server, runtime, version);

  try {
    await server.listen({ host, port });
  } catch (thrown) {
    throw listenFailure(thrown, host, port);
  }
  const { port: bound } = server.server.address() as { port: number };
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    token,
    approvalToken,
    close: () => server.close(),
  };
}

const newToken = () => randomBytes(24).toString('hex');

function addRoutes(server: FastifyInstance, runtime: Runtime, version: string): void {
  server.get('/healthz', () => ({ ok: true, version }));

  server.get('/v1/tools', () => ({
    tools: runtime.tools().map(({ contract, origin, enabled, admit }) => ({
      ...toolToWire(contract),
      origin,
      enabled,
      ...(admit ? { admit } : {}),
    })),
  }));

  server.post('/v1/call', async (request, reply) => {
    const call = fromToolRequest(request.body);
    if (typeof call === 'string') throw fail('input.envelope', `Cannot make the call: ${call}`);
    const response = await runtime.call(call, { signal: hangUpSignal(reply) });
    const [error] = response.errors;
    return reply.status(error ? ERRORS[error.reason].http : 200).send(toToolResponse(response));
  });

  server.get('/v1/approvals', async () => ({
    approvals: (await runtime.approvals.list('pending')).map(approvalToWire),
  }));

  server.post<{ Params: { id: string } }>('/v1/approvals/:id', async (request) => {
    const decision = (request.body as { decision?: unknown } | null)?.decision;
    if (decision !== 'granted' && decision !== 'refused') {
      throw fail(
        'usage',
        'Cannot answer the approval: send {"decision": "granted"} or {"decision": "refused"}',
      );
    }
    return approvalToWire(await runtime.approvals.decide(request.params.id, decision, 'http'));
  });
}

/** A caller who hangs up before the answer cancels its call. */
function hangUpSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

function parseBody(body: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw fail('input.not_json', 'Cannot read the body: it is not UTF-8 text');
  }
  try {
    return parseStrict(text);
  } catch (thrown) {
    throw fail(
      'input.not_json',
      `Cannot read the body: ${thrown instanceof Error ? thrown.message : 'not JSON'}`,
    );
  }
}

/** Fastify's own refusals, as rows of the one table. */
const FASTIFY_REASONS: Readonly<Record<string, Reason>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'input.too_large',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'input.not_json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'input.not_json',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'usage',
};

function toFailure(error: unknown, limit: number): unknown {
  if (isFailure(error)) return error;
  const reason = FASTIFY_REASONS[(error as { code?: string }).code ?? ''];
  if (reason === 'input.too_large')
    return fail(reason, `Cannot read the body: it is over the limit of ${limit} bytes`, { limit });
  if (reason) return fail(reason, `Cannot read the body: ${(error as Error).message}`);
  return error;
}

function refuse(reply: FastifyReply, thrown: unknown, status?: number): FastifyReply {
  const { code, reason, message } = toErrorEntry(thrown);
  const body: ErrorMessage = { type: 'ErrorMessage', code, message, reason };
  return reply.status(status ?? ERRORS[reason].http).send(body);
}

function listenFailure(thrown: unknown, host: string, port: number): unknown {
  const { code } = thrown as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return fail(
      'usage',
      `Cannot listen on ${host}:${port}: the port is taken; choose another with --port N, or 0 for any`,
    );
  if (code === 'EACCES')
    return fail(
      'usage',
      `Cannot listen on ${host}:${port}: the port needs more rights; choose one above 1023`,
    );
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return fail('usage', `Cannot listen on ${host}: this machine has no such address`);
  return thrown;
}
