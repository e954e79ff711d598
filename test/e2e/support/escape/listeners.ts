// Owns: the servers of the host that nobody in a sandbox may reach, and one that policy grants; all of them real.
// Refuses: to answer anything that would help; each notes who came.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, createServer, type Server as TcpServer } from 'node:net';
import { join } from 'node:path';
import { ADDRESSES } from '../apart.ts';
import { answerTo, nameIn } from './dns.ts';

export interface Listeners {
  /** Of everything that must not come: `tcp 127.0.0.1:4711`, `unix`, `abstract`, `dns exfil.test`, `rebound /`. */
  readonly came: string[];
  /** How often each name was asked for. */
  readonly asked: ReadonlyMap<string, number>;
  readonly ports: {
    /** Nobody may connect to it. */
    readonly closed: number;
    /** `127.0.0.1` and this is granted, as private. */
    readonly granted: number;
    readonly dns: number;
    /** `rebind.test`, `mixed.test`, … and this are granted, as public. */
    readonly rebind: number;
  };
  readonly unixSocket: string;
  /** Without the NUL at its beginning. */
  readonly abstractSocket: string;
  close(): Promise<void>;
}

/** `network`: whether this process has the addresses of `ADDRESSES` and may listen on every port. */
export async function startListeners(outside: string, network: boolean): Promise<Listeners> {
  const came: string[] = [];
  const asked = new Map<string, number>();
  const servers: (Server | TcpServer | UdpSocket)[] = [];
  const everywhere = network ? '::' : '127.0.0.1';

  const listen = async (
    server: Server | TcpServer,
    where: string | number,
    host?: string,
  ): Promise<number> => {
    servers.push(server);
    server.listen(...([where, host].filter((one) => one !== undefined) as [number, string]));
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' ? (address as AddressInfo).port : 0;
  };
  const notes = (what: string) =>
    createServer((socket) => {
      came.push(`${what} ${socket.localAddress ?? ''}:${socket.localPort ?? ''}`);
      socket
        .on('error', () => {})
        .resume()
        .end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\npwned!');
    });

  const closed = await listen(notes('tcp'), 0, everywhere);
  if (network) for (const port of [80, 443]) await listen(notes('metadata'), port, everywhere);
  const unixSocket = join(outside, 'docker.sock');
  await listen(notes('unix'), unixSocket);
  const abstractSocket = `haft-escape-${process.pid}`;
  await listen(notes('abstract'), `\0${abstractSocket}`);

  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const { localAddress = '', localPort } = request.socket;
    if (request.url === '/smuggled' || request.url === '/late') came.push(`granted ${request.url}`);
    if (localPort === ports.rebind && /(^|:)127\.|^::1$/.test(localAddress))
      came.push(`rebound ${request.url}`);
    const location = PLACES[(request.url ?? '').slice(1)]?.(closed);
    if (location === undefined) response.end('granted');
    else response.writeHead(302, { location }).end();
  };
  const ports = {
    closed,
    granted: await listen(createHttpServer({ keepAlive: false }, serve), 0, '127.0.0.1'),
    rebind: network ? await listen(createHttpServer({ keepAlive: false }, serve), 0, everywhere) : 0,
    dns: network ? 53 : 0,
  };
  const dns = createSocket({ type: network ? 'udp6' : 'udp4' });
  servers.push(dns);
  dns.on('message', (query, from) => {
    const name = nameIn(query);
    const times = asked.get(name) ?? 0;
    const answer = answerTo(query, RECORDS[name]?.(times) ?? []);
    if (!answer.isAddress) return void dns.send(answer.bytes, from.port, from.address);
    asked.set(name, times + 1);
    if (!Object.hasOwn(RECORDS, name)) came.push(`dns ${name}`);
    dns.send(answer.bytes, from.port, from.address);
  });
  dns.bind(network ? 53 : 0, everywhere);
  await once(dns, 'listening');

  return {
    came,
    asked,
    ports: { ...ports, dns: dns.address().port },
    unixSocket,
    abstractSocket,
    close: async () => {
      await Promise.all(
        servers.map((server) => new Promise<void>((resolve) => void server.close(() => resolve()))),
      );
    },
  };
}

/** What each granted name leads to when it is asked for the first, second, … time. */
const RECORDS: Readonly<Record<string, (times: number) => readonly string[]>> = {
  'rebind.test': (times) => [times === 0 ? ADDRESSES.public : '127.0.0.1'],
  'turned.test': (times) => [times === 0 ? ADDRESSES.public : '127.0.0.1'],
  'mixed.test': () => [ADDRESSES.public, '127.0.0.1'],
  'inward.test': () => ['127.0.0.1'],
  'metadata.test': () => [ADDRESSES.metadata],
  'lan.test': () => [ADDRESSES.private],
};

export const GRANTED_NAMES = Object.keys(RECORDS);

/** Where the granted server sends those who ask for a path. */
const PLACES: Readonly<Record<string, (closed: number) => string>> = {
  'to-closed': (port) => `http://127.0.0.1:${port}/`,
  'to-metadata': () => `http://${ADDRESSES.metadata}/latest/meta-data/`,
  'to-metadata-decimal': () => 'http://2852039166/latest/',
  'to-metadata-v6': () => 'http://[::ffff:a9fe:a9fe]/latest/',
  'to-zero': (port) => `http://0.0.0.0:${port}/`,
  'to-v6': (port) => `http://[::1]:${port}/`,
  'to-file': () => 'file:///etc/passwd',
  'to-user': (port) => `http://granted@127.0.0.1:${port}/`,
  'to-self': () => '/to-self',
};
