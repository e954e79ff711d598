// Owns: CONNECT: a way for TLS to the host that was asked for, and for nothing else; it reads the first message as far as its name.
// Refuses: to pass a byte on before exactly one well-formed ClientHello has named that host; it decrypts and changes nothing.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type HttpTarget, parseHttpUrl } from '../../../contract/http.ts';
import { literalAddress } from '../dial.ts';
import { type EgressSession, openWayOut, type WayOutSite } from './way-out.ts';

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

type HelloReading =
  /** The message is not complete. */
  | { readonly state: 'more' }
  /** No TLS, or not as the standard writes it. */
  | { readonly state: 'bad'; readonly message: string }
  /** `serverName` is undefined where the client names none. */
  | { readonly state: 'ok'; readonly serverName: string | undefined };

/** Larger ones are refused; those with post-quantum keys have about 2 KiB. */
const MAX_HELLO_BYTES = 32 * 1024;

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/** `bytes` is all that came so far, records and all. */
export function readClientHello(bytes: Buffer): HelloReading {
  try {
    const message = handshakeOf(bytes);
    if (message === undefined)
      return bytes.length > MAX_HELLO_BYTES ? bad('its first message is too large') : { state: 'more' };
    return { state: 'ok', serverName: serverNameOf(message) };
  } catch (error) {
    return bad((error as Error).message);
  }
}

const bad = (message: string): HelloReading => ({ state: 'bad', message });

/** The body of the ClientHello, put together from its records; undefined until all of it is there. */
function handshakeOf(bytes: Buffer): Buffer | undefined {
  const fragments: Buffer[] = [];
  let size = 0;
  for (let at = 0; ; ) {
    // As early as it shows: somebody who speaks first and no TLS would otherwise be waited for.
    if (at < bytes.length && bytes[at] !== HANDSHAKE_RECORD) throw new Error('it is not TLS');
    if (bytes.length < at + 5) return undefined;
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at + 1] !== 3 || length === 0 || length > 16_384) throw new Error('it is not TLS');
    const fragment = bytes.subarray(at + 5, at + 5 + length);
    fragments.push(fragment);
    size += fragment.length;
    const whole = handshakeIn(fragments, size);
    if (whole) return whole;
    if (fragment.length < length) return undefined;
    at += 5 + length;
  }
}

function handshakeIn(fragments: readonly Buffer[], size: number): Buffer | undefined {
  if (size < 4) return undefined;
  const joined = Buffer.concat(fragments as Buffer[], size);
  if (joined[0] !== CLIENT_HELLO) throw new Error('its first message is not a ClientHello');
  const length = joined.readUIntBE(1, 3);
  if (length > MAX_HELLO_BYTES) throw new Error('its first message is too large');
  if (size > 4 + length) throw new Error('it says more than a ClientHello before it is answered');
  return size < 4 + length ? undefined : joined.subarray(4);
}

/** Reads forward only, and never beyond the end. */
function reader(bytes: Buffer) {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('its ClientHello is cut off');
    at += length;
    return bytes.subarray(at - length, at);
  };
  return {
    take,
    number: (size: number): number => take(size).readUIntBE(0, size),
    /** What a length of `size` bytes is before. */
    vector: (size: number): Buffer => take(take(size).readUIntBE(0, size)),
    done: (): boolean => at === bytes.length,
  };
}

function serverNameOf(body: Buffer): string | undefined {
  const hello = reader(body);
  hello.take(2 + 32);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  if (hello.done()) return undefined;
  const extensions = reader(hello.vector(2));
  if (!hello.done()) throw new Error('its ClientHello goes on after its end');
  let serverName: string | undefined;
  while (!extensions.done()) {
    const type = extensions.number(2);
    const value = extensions.vector(2);
    if (type !== SERVER_NAME) continue;
    if (serverName !== undefined) throw new Error('it names its host twice');
    serverName = onlyName(value);
  }
  return serverName;
}

function onlyName(extension: Buffer): string {
  const outer = reader(extension);
  const list = reader(outer.vector(2));
  const type = list.number(1);
  const name = list.vector(2);
  if (!outer.done() || !list.done() || type !== HOST_NAME) throw new Error('it names more than one host');
  if (name.length === 0 || name.length > 255 || !/^[A-Za-z0-9._:-]+$/.test(name.toString('latin1')))
    throw new Error('the name of its host is not one');
  return name.toString('latin1').toLowerCase();
}
