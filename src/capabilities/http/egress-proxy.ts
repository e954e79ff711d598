// Owns: the proxy that sandboxed programs get as their only way out: listening, who may come in, and the end of everything; plain HTTP
// by absolute URL: read whole, written anew, one request for each connection.
// Refuses: to be a cache, a logger of content, or a way to any place that policy was not asked about; to pass on anything that the
// other side could take for the end of one message or the beginning of another.
import { chmodSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, STATUS_CODES, request as sendRequest } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { fail } from '../../contract/errors.ts';
import type { EgressProxy, EgressProxyOptions, ParsedHttpUrl } from '../../contract/http.ts';
import { parseHttpUrl } from '../../contract/http.ts';
import { createHostResolver, type LookupHost } from './dial.ts';
import { openTunnel, type TunnelSite } from './egress/tunnel.ts';
import { type EgressSession, openWayOut, type Refusal, startSession } from './egress/way-out.ts';

export interface EgressProxyParts extends EgressProxyOptions {
  /** Asks for the addresses of a name; by default the system. */
  readonly lookup?: LookupHost;
  /** How long a program may take to say what it wants. By default 10 s. */
  readonly headTimeoutMs?: number;
}

const MAX_HEAD_BYTES = 32 * 1024;

export async function createEgressProxy(options: EgressProxyParts): Promise<EgressProxy> {
  const { maxConnections = 128, headTimeoutMs = 10_000 } = options;
  const sockets = new Set<Socket>();
  /** Of connections that have not said what they want, and of all. */
  const sessions = new Map<Socket, EgressSession>();
  const open = new Set<EgressSession>();
  let clients = 0;

  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  };
  const refuse = (client: Socket, session: EgressSession, refusal: Refusal): void => {
    const { status, outcome, message, admit } = refusal;
    session.end(outcome, message, admit);
    const body = admit ? `${message}\nTo allow this, add to haft.yaml:\n${admit}` : `${message}\n`;
    const length = Buffer.byteLength(body);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n`;
    client.end(head + body);
    // What still comes is read away for a moment, so that the answer is not lost to a reset.
    client.resume();
    setTimeout(() => client.destroy(), 1_000).unref();
  };
  const site: TunnelSite = {
    allow: options.allow,
    resolve: createHostResolver(options.lookup),
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    idleTimeoutMs: options.idleTimeoutMs ?? 60_000,
    helloTimeoutMs: headTimeoutMs,
    refuse,
    track,
  };

  /** The session of a connection's first and only request; undefined for any that follows. */
  const claim = (client: Socket): EgressSession | undefined => {
    const session = sessions.get(client);
    sessions.delete(client);
    return session;
  };
  /** A mistake in handling one connection ends that one. */
  const guard = (client: Socket, session: EgressSession, handling: Promise<void>): void => {
    handling.catch(() => {
      session.end('failed', 'the proxy could not handle it');
      client.destroy();
    });
  };
  const parser = createServer({ maxHeaderSize: MAX_HEAD_BYTES, insecureHTTPParser: false, keepAlive: false });
  parser.on('request', (request, response) => {
    const session = claim(request.socket);
    // A second request on the connection is never looked at: the first answer closes it.
    if (session) guard(request.socket, session, forwardRequest(site, request, response, session));
  });
  parser.on('connect', (request, stream, early) => {
    const client = stream as Socket;
    const session = claim(client);
    if (session) guard(client, session, openTunnel(site, request, client, early, session));
    else client.destroy();
  });
  parser.on('clientError', (_, stream) => {
    const client = stream as Socket;
    const session = claim(client);
    const message = 'Cannot understand this request: it is not HTTP as a proxy takes it';
    if (session && !client.destroyed) refuse(client, session, { status: 400, outcome: 'malformed', message });
    else client.destroy();
  });

  const front = createTcpServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    track(client);
    const session = startSession(options.record);
    if (clients >= maxConnections) {
      const message = `Cannot take this connection: there are already ${maxConnections}`;
      refuse(client, session, { status: 503, outcome: 'busy', message });
      return;
    }
    clients += 1;
    sessions.set(client, session);
    const timer = setTimeout(() => {
      if (claim(client)) {
        session.end('malformed', 'the request did not come in time');
        client.destroy();
      }
    }, headTimeoutMs);
    client.once('close', () => {
      clients -= 1;
      clearTimeout(timer);
      // Somebody who came and left without a word is not worth a record.
      sessions.delete(client);
      open.delete(session);
    });
    open.add(session);
    parser.emit('connection', client);
  });

  await new Promise<void>((resolve, reject) => {
    front.once('error', (error: Error & { code?: string }) =>
      reject(fail('http.failed', `Cannot start the egress proxy: it cannot listen (${error.code})`)),
    );
    if ('socket' in options.listen) front.listen(options.listen.socket, resolve);
    else front.listen(options.listen.port, '127.0.0.1', resolve);
  });
  if ('socket' in options.listen) chmodSync(options.listen.socket, 0o600);
  front.unref();

  return {
    address:
      'socket' in options.listen
        ? { socket: options.listen.socket }
        : { host: '127.0.0.1', port: (front.address() as AddressInfo).port },
    close: () =>
      new Promise((resolve) => {
        for (const session of open)
          if (session.target.port !== 0) session.end('closed', 'the proxy was closed');
        front.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

async function forwardRequest(
  site: TunnelSite,
  request: IncomingMessage,
  response: ServerResponse,
  session: EgressSession,
): Promise<void> {
  const { socket: client } = request;
  const asked = urlOf(request);
  if ('outcome' in asked) {
    site.refuse(client, session, asked);
    return;
  }
  const { url, target } = asked;
  const found = await openWayOut(site, client, target, session);
  if (!found) return;
  let idle = false;
  const expire = () => {
    idle = true;
    client.destroy();
  };
  client.setTimeout(site.idleTimeoutMs, expire);
  found.setTimeout(site.idleTimeoutMs, expire);

  const outgoing = sendRequest({
    createConnection: () => found,
    host: target.host,
    method: request.method ?? 'GET',
    path: url.pathname + url.search,
    headers: ['host', url.host, ...passedOn(request.rawHeaders, 'host'), 'connection', 'close'],
    setHost: false,
  });
  client.on('close', () => {
    outgoing.destroy();
    found.destroy();
    if (idle) session.end('idle', 'nothing moved for too long');
    else session.end(response.writableFinished ? 'done' : 'failed');
  });
  outgoing.on('error', () => {
    const message = `Cannot request ${url.origin}: the connection broke off`;
    if (response.headersSent) client.destroy();
    else site.refuse(client, session, { status: 502, outcome: 'failed', message });
  });
  outgoing.on('response', (answer) => {
    answer.on('error', () => client.destroy());
    if (!begin(response, answer)) {
      client.destroy();
      return;
    }
    answer.on('data', (chunk: Buffer) => {
      session.bytesDown += chunk.length;
    });
    answer.pipe(response);
  });
  request.on('data', (chunk: Buffer) => {
    session.bytesUp += chunk.length;
  });
  request.pipe(outgoing);
}

/** False where the head of the answer is nothing that can be passed on. */
function begin(response: ServerResponse, { statusCode = 502, rawHeaders }: IncomingMessage): boolean {
  try {
    response.writeHead(statusCode, [...passedOn(rawHeaders), 'connection', 'close']);
    return true;
  } catch {
    return false;
  }
}

function urlOf({ url = '', method, headers, rawHeaders }: IncomingMessage): ParsedHttpUrl | Refusal {
  const malformed = (message: string): Refusal => ({ status: 400, outcome: 'malformed', message });
  if (!/^http:\/\//i.test(url)) {
    const what = /^https:/i.test(url) ? 'send CONNECT for https' : 'send the whole URL';
    return malformed(`Cannot forward this request: this is a proxy; ${what}`);
  }
  if (method === 'TRACE') return malformed('Cannot forward this request: TRACE is not forwarded');
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  const twice = ['host', 'content-length', 'transfer-encoding'].find(
    (name) => names.filter((one) => one === name).length > 1,
  );
  if (twice) return malformed(`Cannot forward this request: it has more than one ${twice} header`);
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || headers['content-length'] !== undefined))
    return malformed('Cannot forward this request: the length of its body is not clear');
  try {
    return parseHttpUrl(url);
  } catch {
    return malformed('Cannot forward this request: its URL cannot be understood');
  }
}

const BETWEEN_NEIGHBOURS = new Set([
  'connection',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);

/** Name, value, name, value: without what concerns only two neighbours, and without `also`. */
function passedOn(raw: readonly string[], also?: string): string[] {
  const named = raw.flatMap((value, at) =>
    at % 2 === 1 && raw[at - 1]?.toLowerCase() === 'connection'
      ? value.split(',').map((name) => name.trim().toLowerCase())
      : [],
  );
  // Framing is decided by what was parsed, whatever a Connection header claims.
  const dropped = new Set(named.filter((name) => name !== 'content-length' && name !== 'transfer-encoding'));
  const list: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase();
    if (BETWEEN_NEIGHBOURS.has(name) || dropped.has(name) || name === also) continue;
    list.push(raw[at]!, raw[at + 1]!);
  }
  return list;
}
