// Owns: plain HTTP by absolute URL: read whole, written anew, one request for each connection.
// Refuses: to pass on anything that the other side could take for the end of one message or the beginning of another.
import { type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import { type ParsedHttpUrl, parseHttpUrl } from '../../../contract/http.ts';
import type { TunnelSite } from './tunnel.ts';
import { type EgressSession, openWayOut, type Refusal } from './way-out.ts';

export async function forwardRequest(
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
