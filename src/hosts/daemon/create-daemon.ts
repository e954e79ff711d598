// Owns: the HTTP door: requests in, the answers of the routes out, each a view over the runtime.
// Refuses: decisions of its own; statuses come from the error table.
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { parseStrict } from '../../base/strict-json.ts';
import { ERRORS, type Failure, fail, isFailure, type Reason } from '../../contract/errors.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import type { DefaultRuntime } from '../../preset/default.ts';
import { createLivingSite } from '../../preset/operation-handles.ts';
import { createGuard } from './guard.ts';
import type { Asked, DaemonSite, Mount, Route, RouteToken } from './route.ts';
import { checkAsked, errorMessage, isStreamed } from './route.ts';
import { ROUTES } from './routes/index.ts';
import type { DaemonTokens } from './tokens.ts';

export interface DaemonOptions {
  readonly runtime: DefaultRuntime;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly tokens: DaemonTokens;
  /** Nothing may differ from haft.lock. */
  readonly frozen?: boolean;
  /** Told of each request once it is answered. */
  readonly onRequest?: (request: AnsweredRequest) => void;
  /** What else answers here. */
  readonly mounts?: readonly Mount[];
  readonly maxBodyBytes?: number;
  /** Less patience than usual, for tests. */
  readonly patience?: Patience;
}

/** Nothing that a token could be in: no header, no query, no body. */
export interface AnsweredRequest {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly status: number;
  readonly ms: number;
}

interface Patience {
  /** For all of the headers of a request. */
  readonly headers: number;
  /** For all of a request, its body included. */
  readonly request: number;
  /** For the next request on a connection. */
  readonly idle: number;
  /** How often the first two are looked at. */
  readonly check: number;
}

export interface Daemon {
  readonly address: string;
  close(): Promise<void>;
}

const LARGEST_BODY = 64 * 1024 * 1024;
const MOST_CONNECTIONS = 1000;
/** Milliseconds. Whoever may ask could otherwise hold connections and memory with a byte a minute. */
const PATIENCE: Patience = { headers: 10_000, request: 30_000, idle: 60_000, check: 1000 };
/** Ids of tools are as long as their servers like. */
const LONGEST_NAME = 1024;
/** Of who left before the answer, as proxies log it. */
const GONE = 499;
const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

export async function createDaemon(options: DaemonOptions): Promise<Daemon> {
  const { runtime, version, host, port, tokens, frozen = false } = options;
  const { mounts = [] } = options;
  const names = [...LOOPBACK, host];
  const guards = {
    calls: createGuard(tokens.calls, names),
    management: createGuard(tokens.management, names),
  };
  const wants = new Map<string, Route['token']>([
    ...ROUTES.map((route) => [route.path, route.token] as const),
    ...mounts.flatMap(({ path, token }) => [[path, token] as const, [`${path}/*`, token] as const]),
  ]);
  const limit = options.maxBodyBytes ?? LARGEST_BODY;
  const patience = options.patience ?? PATIENCE;
  /** Why somebody with these headers may not ask for what takes this token. */
  const refusalOf = (wanted: RouteToken, { headersDistinct }: IncomingMessage): Failure | undefined => {
    const isAny = wanted === 'either' && guards.management.check(headersDistinct, true) === undefined;
    if (isAny) return undefined;
    return guards[wanted === 'management' ? 'management' : 'calls'].check(headersDistinct, wanted !== 'none');
  };
  const whyNot = async ({ raw, routeOptions }: FastifyRequest): Promise<Failure | undefined> => {
    // Whoever has a token may learn that nothing is there.
    const token = wants.get(routeOptions.url ?? '') ?? 'either';
    return checkTarget(raw.url) ?? refusalOf(typeof token === 'function' ? await token() : token, raw);
  };
  const server = fastify({
    bodyLimit: limit,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: LONGEST_NAME },
    // Fastify's own is for ever. It ends when the request is there: a call may take as long as it takes.
    requestTimeout: patience.request,
    keepAliveTimeout: patience.idle,
    http: {
      headersTimeout: patience.headers,
      connectionsCheckingInterval: patience.check,
      // The guard refuses a request without a Host, with a body that says so.
      requireHostHeader: false,
    },
    // A target that no route could have passes by the hook below.
    frameworkErrors: (_error, { raw }, reply) =>
      refuse(
        reply.header('connection', 'close'),
        checkTarget(raw.url) ??
          refusalOf('calls', raw) ??
          fail('usage', 'Cannot answer: the target is not well-formed, or a part of it is too long'),
      ),
    clientErrorHandler: (error, socket) => refuseUnread(error, socket, patience),
  });
  server.server.maxConnections = MOST_CONNECTIONS;

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
    const refusal = await whyNot(request);
    // What it may not ask is not read either.
    if (refusal) return refuse(reply.header('connection', 'close'), refusal);
  });
  const { onRequest } = options;
  if (onRequest)
    server.server.on('request', (request, response) => {
      const begun = performance.now();
      const { method = '', url = '' } = request;
      response.once('close', () =>
        onRequest({
          method,
          path: url.split('?', 1)[0]!.slice(0, LONGEST_NAME),
          status: response.headersSent ? response.statusCode : GONE,
          ms: performance.now() - begun,
        }),
      );
    });
  const isPerson = ({ headersDistinct }: IncomingMessage) =>
    guards.management.check(headersDistinct, true) === undefined;
  const schemas = createSchemaCompiler();
  addRoutes(server, { runtime, version, frozen, living: createLivingSite(), schemas }, isPerson);
  for (const mount of mounts) addMount(server, mount, limit);
  server.server.on('upgrade', (request, socket, head) => {
    const target = (request.url ?? '').split('?', 1)[0]!;
    const mount = mounts.find(({ path }) => target === path || target.startsWith(`${path}/`));
    const refusal = checkTarget(request.url) ?? refusalOf(mount?.token ?? 'calls', request);
    if (!refusal && mount?.upgrade) return mount.upgrade(request, socket, head);
    const why = refusal ?? fail('usage', 'Cannot upgrade the connection: nothing here takes it over');
    endUnread(socket, `${ERRORS[why.reason].http} ${STATUS_CODES[ERRORS[why.reason].http]}`, why);
  });

  try {
    await server.listen({ host, port });
  } catch (thrown) {
    throw listenFailure(thrown, host, port);
  }
  const { port: bound } = server.server.address() as { port: number };
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () => server.close(),
  };
}

function addRoutes(
  server: FastifyInstance,
  site: DaemonSite,
  isPerson: (request: IncomingMessage) => boolean,
): void {
  for (const route of ROUTES) {
    server.route({
      method: route.method,
      url: route.path,
      async handler(request, reply) {
        const asked: Asked = {
          params: request.params as Asked['params'],
          query: request.query as Asked['query'],
          body: request.body,
          get isPerson() {
            return isPerson(request.raw);
          },
          signal: () => hangUpSignal(reply),
          status: (code) => void reply.status(code),
        };
        if (route.query || route.body) await checkAsked(route, asked, site.schemas);
        const answer = await route.answer(asked, site);
        if (!isStreamed(answer)) return answer;
        return reply.type(answer.contentType).send(Readable.from(answer.pieces, { objectMode: false }));
      },
    });
  }
}

/** The body is left to it, up to the limit. */
function addMount(server: FastifyInstance, mount: Mount, limit: number): void {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    for (const url of [mount.path, `${mount.path}/*`])
      scope.all(url, async ({ raw }, reply) => {
        let size = 0;
        raw.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > limit)
            raw.destroy(
              fail('input.too_large', `Cannot read the body: it is over the limit of ${limit} bytes`),
            );
        });
        raw.pause();
        reply.hijack();
        try {
          await mount.handle(raw, reply.raw);
        } catch (thrown) {
          if (reply.raw.headersSent) return void reply.raw.destroy();
          const body = errorMessage(thrown);
          reply.raw.writeHead(ERRORS[body.reason].http, {
            'content-type': 'application/json; charset=utf-8',
          });
          reply.raw.end(JSON.stringify(body));
        }
      });
  });
}

/** A target that names a server would be routed by its path, whatever server it names. */
function checkTarget(url = ''): Failure | undefined {
  if (url.startsWith('/')) return undefined;
  return fail('usage', 'Cannot answer: the target of a request is its path, which begins with "/"');
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
  const body = errorMessage(thrown);
  return reply.status(status ?? ERRORS[body.reason].http).send(body);
}

/** What Node gave up on before it was a request: no reply to send it by, only a socket. */
function refuseUnread(error: NodeJS.ErrnoException, socket: Socket, { headers, request }: Patience): void {
  // An answer is under way to an earlier request: more bytes would look like a part of it.
  const { _httpMessage: under } = socket as { _httpMessage?: { headersSent: boolean } };
  if (error.code === 'ECONNRESET' || !socket.writable || under?.headersSent) return void socket.destroy();
  const [status, refusal] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ([
          '408 Request Timeout',
          fail(
            'input.slow',
            `Cannot read the request: headers have ${headers / 1000} s to arrive, and all of it ${request / 1000} s`,
          ),
        ] as const)
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ([
            '431 Request Header Fields Too Large',
            fail('input.too_large', 'Cannot read the request: its headers are over the limit of 16 KiB'),
          ] as const)
        : ([
            '400 Bad Request',
            fail('usage', 'Cannot read the request: it is not well-formed HTTP'),
          ] as const);
  endUnread(socket, status, refusal);
}

/** Without a reply to send it by: only a socket. */
function endUnread(socket: Duplex, status: string, refusal: Failure): void {
  const body = JSON.stringify(errorMessage(refusal));
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
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
