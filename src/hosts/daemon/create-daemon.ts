// Owns: the HTTP door: requests in, the answers of the routes out, each a view over the runtime.
// Refuses: decisions of its own; statuses come from the error table.
import { randomBytes } from 'node:crypto';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { parseStrict } from '../../base/strict-json.ts';
import { createTurns } from '../../base/turns.ts';
import type { ErrorMessage } from '../../contract/envelope.ts';
import { ERRORS, fail, isFailure, type Reason, toErrorEntry } from '../../contract/errors.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import type { DefaultRuntime } from '../../preset/default.ts';
import type { FindTools } from '../../runtime/tool-search/tool-finder.ts';
import { createGuard } from './guard.ts';
import { type Asked, checkAsked, type DaemonSite, type RouteToken } from './route.ts';
import { ROUTES } from './routes/index.ts';

export interface DaemonOptions {
  readonly runtime: DefaultRuntime;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  /** For calls. Made up when absent. */
  readonly token?: string;
  /**
   * For answering approvals and managing tools: another one, so that who calls a tool can neither approve its own call
   * nor add tools. Made up when absent.
   */
  readonly approvalToken?: string;
  /** Nothing may differ from haft.lock. */
  readonly frozen?: boolean;
  readonly maxBodyBytes?: number;
}

export interface Daemon {
  readonly address: string;
  readonly token: string;
  readonly approvalToken: string;
  close(): Promise<void>;
}

const LARGEST_BODY = 64 * 1024 * 1024;
/** Ids of tools are as long as their servers like. */
const LONGEST_NAME = 1024;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

export async function createDaemon(options: DaemonOptions): Promise<Daemon> {
  const { runtime, version, host, port, frozen = false } = options;
  const { token = newToken(), approvalToken = newToken() } = options;
  const names = [...LOOPBACK, host];
  const guards = { calls: createGuard(token, names), management: createGuard(approvalToken, names) };
  const tokens = new Map<string, RouteToken>(ROUTES.map((route) => [route.path, route.token]));
  const limit = options.maxBodyBytes ?? LARGEST_BODY;
  const server = fastify({
    bodyLimit: limit,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: LONGEST_NAME },
  });

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
    const wanted = tokens.get(request.routeOptions.url ?? '') ?? 'calls';
    const guard = guards[wanted === 'management' ? 'management' : 'calls'];
    const refusal = guard.check(request.headers, wanted !== 'none');
    if (refusal) return refuse(reply, refusal);
  });
  let finder: Promise<FindTools> | undefined;
  addRoutes(server, {
    runtime,
    version,
    frozen,
    inTurn: createTurns(),
    finder() {
      finder ??= import('../../runtime/tool-search/tool-finder.ts').then(({ createToolFinder }) =>
        createToolFinder(),
      );
      return finder;
    },
  });

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

function addRoutes(server: FastifyInstance, site: DaemonSite): void {
  const schemas = createSchemaCompiler();
  for (const route of ROUTES) {
    server.route({
      method: route.method,
      url: route.path,
      async handler(request, reply) {
        const asked: Asked = {
          params: request.params as Asked['params'],
          query: request.query as Asked['query'],
          body: request.body,
          signal: () => hangUpSignal(reply),
          status: (code) => void reply.status(code),
        };
        if (route.query || route.body) await checkAsked(route, asked, schemas);
        return route.answer(asked, site);
      },
    });
  }
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
