// Owns: CONNECT: a way for TLS to the host that was asked for, and for nothing else.
// Refuses: to pass a byte on before the ClientHello has named that host.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type HttpTarget, parseHttpUrl } from '../../../contract/http.ts';
import { literalAddress } from '../resolve-host.ts';
import { readClientHello } from './client-hello.ts';
import type { EgressSession } from './session.ts';
import { openWayOut, type WayOutSite } from './way-out.ts';

export interface TunnelSite extends WayOutSite {
  readonly idleTimeoutMs: number;
  readonly helloTimeoutMs: number;
}

export async function openTunnel(
  site: TunnelSite,
  request: IncomingMessage,
  client: Socket,
  early: Buffer,
  session: EgressSession,
): Promise<void> {
  const target = targetOf(request);
  if (!target) {
    const message = 'Cannot open a tunnel: it takes CONNECT host:port, without a body';
    site.refuse(client, session, { status: 400, outcome: 'malformed', message });
    return;
  }
  const found = await openWayOut(site, client, target, session);
  if (!found) return;
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  const hello = await receiveHello(client, early, site.helloTimeoutMs);
  const problem = typeof hello === 'string' ? hello : mismatch(target, hello.serverName);
  if (typeof hello === 'string' || problem !== undefined) {
    found.destroy();
    client.destroy();
    session.end('mismatch', `Cannot use the tunnel to ${target.host}: ${problem}`);
    return;
  }
  join(client, found, hello.bytes, site.idleTimeoutMs, session);
}

function targetOf({ url = '', headers }: IncomingMessage): HttpTarget | undefined {
  if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return undefined;
  if (!/^(?:\[[0-9a-fA-F:.]+\]|[^:/?#@\\\s[\]]+):[0-9]{1,5}$/.test(url)) return undefined;
  try {
    return parseHttpUrl(`https://${url}/`).target;
  } catch {
    return undefined;
  }
}

/** What is wrong with this name in a tunnel to that host. */
function mismatch({ host }: HttpTarget, serverName: string | undefined): string | undefined {
  const literal = literalAddress(host)?.address;
  if (serverName === (literal ?? host)) return undefined;
  if (serverName !== undefined) return 'its TLS is for another host';
  return literal ? undefined : 'its TLS names no host';
}

interface Hello {
  readonly bytes: Buffer;
  readonly serverName: string | undefined;
}

/** The first message with all that came beside it, or what was wrong with it. */
function receiveHello(client: Socket, early: Buffer, timeoutMs: number): Promise<Hello | string> {
  return new Promise((resolve) => {
    let bytes = early;
    const finish = (result: Hello | string) => {
      clearTimeout(timer);
      client.off('data', take).off('close', leave).off('end', leave);
      client.pause();
      resolve(result);
    };
    const look = (): void => {
      const reading = readClientHello(bytes);
      if (reading.state === 'bad') finish(reading.message);
      else if (reading.state === 'ok') finish({ bytes, serverName: reading.serverName });
    };
    const take = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      look();
    };
    const leave = () => finish('it was left before it began');
    const timer = setTimeout(() => finish('its TLS did not begin in time'), timeoutMs);
    client.on('data', take).on('close', leave).on('end', leave);
    if (bytes.length > 0) look();
  });
}

/** Passes on until both sides have ended; one that ends first is waited for as long as something moves. */
function join(
  client: Socket,
  host: Socket,
  first: Buffer,
  idleTimeoutMs: number,
  session: EgressSession,
): void {
  let idle = false;
  const destroy = () => {
    client.destroy();
    host.destroy();
  };
  const expire = () => {
    idle = true;
    destroy();
  };
  const closed = () => {
    if (!client.closed || !host.closed) return;
    session.bytesUp = host.bytesWritten;
    session.bytesDown = host.bytesRead;
    if (idle) session.end('idle', 'nothing moved for too long');
    else session.end('done');
  };
  for (const socket of [client, host]) {
    const other = socket === client ? host : client;
    socket.setTimeout(idleTimeoutMs, expire);
    socket.on('error', destroy);
    // What was read but not yet passed on still goes out.
    socket.on('close', () => {
      other.destroySoon();
      closed();
    });
  }
  host.write(first);
  client.pipe(host);
  host.pipe(client);
}
