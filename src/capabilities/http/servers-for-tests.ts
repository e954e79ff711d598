// Owns: real servers on loopback, certificates of a real authority, and a call's scope, for the tests of this folder.
// Refuses: any address but loopback.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallScope, NO_FENCES } from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import { fail } from '../../contract/errors.ts';
import type { HttpRequest, HttpResponse } from '../../contract/http.ts';
import type { ObjectStore } from '../../contract/object-store.ts';
import { matchesDomain, parseDomain } from '../../contract/policy-match.ts';
import type { HttpClientOptions } from './client.ts';
import type { HostAddress } from './dial.ts';
import { createHttpCapability, type HttpCapability } from './handle.ts';

export interface TestServer {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** Connections that were ever made, and those that are open. */
  readonly connections: { made: number; readonly open: Set<Socket> };
  close(): Promise<void>;
}

export const startServer = (listener: RequestListener): Promise<TestServer> =>
  started(createServer({ keepAliveTimeout: 60_000 }, listener), 'http');

export const startTlsServer = (pair: KeyPair, listener: RequestListener): Promise<TestServer> =>
  started(createTlsServer({ ...pair, keepAliveTimeout: 60_000 }, listener), 'https');

/** For answers that no HTTP library would send. */
export const startTcpServer = (listener: (socket: Socket) => void): Promise<TestServer> =>
  started(
    createTcpServer((socket) => {
      // Without a reader it would not even see the other side leave.
      socket.resume();
      listener(socket);
    }),
    'http',
  );

async function started(server: Server | TcpServer, scheme: string): Promise<TestServer> {
  const connections = { made: 0, open: new Set<Socket>() };
  server.on('connection', (socket: Socket) => {
    connections.made += 1;
    connections.open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => connections.open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `${scheme}://127.0.0.1:${port}`,
    connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of connections.open) socket.destroy();
      }),
  };
}

export interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

export interface TestAuthority {
  readonly ca: string;
  /** A certificate for these names: `DNS:a.test`, `IP:127.0.0.1`. */
  issue(names: string, days?: number): KeyPair;
  close(): void;
}

export function createAuthority(): TestAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'haft-ca-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    '/CN=Test CA',
    '-days',
    '2',
  );
  let serial = 0;
  return {
    ca: readFileSync(join(folder, 'ca.pem'), 'utf8'),
    issue(names, days = 2) {
      serial += 1;
      openssl('req', ...newKey, '-keyout', 'leaf.key', '-out', 'leaf.csr', '-subj', '/CN=leaf');
      writeFileSync(join(folder, 'ext'), `subjectAltName=${names}\n`);
      const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-set_serial', String(serial), '-extfile', 'ext'];
      openssl('x509', '-req', '-in', 'leaf.csr', ...signed, '-days', String(days), '-out', 'leaf.pem');
      const read = (name: string) => readFileSync(join(folder, name), 'utf8');
      return { key: read('leaf.key'), cert: read('leaf.pem') };
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface HttpScope extends CallScope {
  readonly admitted: Effect[];
}

export interface HttpScopeOptions {
  /** Domains as in haft.yaml; a `!` before one makes it `private: true`. By default every host is allowed and private. */
  readonly domains?: readonly string[];
  readonly signal?: AbortSignal;
  readonly objects?: ObjectStore;
}

export function createHttpScope({ domains, signal, objects }: HttpScopeOptions = {}): HttpScope {
  const rules = domains?.map((text) => ({
    domain: parseDomain(text.replace('!', '')),
    isPrivate: text.startsWith('!'),
  }));
  const admitted: Effect[] = [];
  return {
    callId: 'call_test',
    root: '/nowhere',
    extraRoots: [],
    signal: signal ?? new AbortController().signal,
    objects: objects ?? (undefined as unknown as ObjectStore),
    undo: { keep: true, maxBytes: 0 },
    admitted,
    admit(_, actual = _) {
      admitted.push(actual);
      if (actual.kind !== 'net.connect')
        throw fail('policy.undeclared', 'Cannot do that: it is not a connection');
      if (rules && !rules.some(({ domain }) => matchesDomain(domain, actual)))
        throw fail('http.not_allowed', `Cannot connect ${actual.host}: it is not on the list`);
    },
    privateHost: (target) =>
      rules ? rules.some(({ domain, isPrivate }) => isPrivate && matchesDomain(domain, target)) : true,
    place: (path) => path,
    policy: NO_FENCES,
    visible: () => false,
    intend: async () => {},
    warn() {},
  };
}

/** What one test file opens; `closeAll` belongs into `afterEach`. */
export interface HttpKit {
  server(route: RequestListener): Promise<TestServer>;
  /** Whatever has to be closed. */
  opened<T extends { close(): unknown }>(thing: T): T;
  capability(options?: HttpClientOptions): HttpCapability;
  request(sent: HttpRequest, scope?: HttpScopeOptions, options?: HttpClientOptions): Promise<HttpResponse>;
  closeAll(): Promise<void>;
}

export function createHttpKit(): HttpKit {
  const closers: (() => unknown)[] = [];
  const opened = <T extends { close(): unknown }>(thing: T): T => {
    closers.push(() => thing.close());
    return thing;
  };
  const capability = (options: HttpClientOptions = {}) => opened(createHttpCapability(options));
  return {
    opened,
    capability,
    server: async (route) => opened(await startServer(route)),
    request: (sent, scope = {}, options = {}) =>
      capability(options).open(createHttpScope(scope)).request(sent),
    async closeAll() {
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** A resolver for which every name is this machine. */
export const onLoopback = async (): Promise<readonly HostAddress[]> => [{ address: '127.0.0.1', family: 4 }];
