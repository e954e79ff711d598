// Owns: the one way out of a sandbox's network: a socket outside, and a forwarder inside that listens where programs look.
// Refuses: to judge what passes; the proxy that it leads to does.
import { chmodSync, chownSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { shWord } from '../../../base/shell/shell-quote.ts';
import type { SandboxProxy } from '../../../contract/sandbox.ts';

export interface ProxyBridges {
  /** A unix socket that only the sandbox's user can open and that leads to the proxy. */
  socketFor(proxy: SandboxProxy): Promise<string>;
  close(): void;
}

/** Where the proxy's socket appears inside. */
export const INSIDE_PROXY = '/run/haft-proxy';

const INSIDE_PORT = 3128;
const READY = '/dev/shm/haft-proxy-ready';

/** Processes and threads of the forwarder, which a program's own limit is not charged for. */
export const FORWARDER_TASKS = 16;

export function createProxyBridges(
  scratch: string,
  owner: { uid: number; gid: number } | undefined,
): ProxyBridges {
  const open = new Map<string, Promise<string>>();
  const servers: Server[] = [];
  const listen = (proxy: SandboxProxy) =>
    new Promise<string>((resolve, reject) => {
      const path = join(scratch, 'proxy', String(servers.length));
      const server = createServer((inner) => {
        const outer = 'socket' in proxy ? connect(proxy.socket) : connect(proxy.port, proxy.host);
        inner.pipe(outer).pipe(inner);
        inner.on('error', () => outer.destroy()).on('close', () => outer.destroy());
        outer.on('error', () => inner.destroy()).on('close', () => inner.destroy());
      });
      servers.push(server);
      server.once('error', reject).listen(path, () => {
        chmodSync(path, 0o600);
        if (owner) chownSync(path, owner.uid, owner.gid);
        server.unref();
        resolve(path);
      });
    });
  return {
    socketFor(proxy) {
      const key = JSON.stringify(proxy);
      const path = open.get(key) ?? listen(proxy);
      open.set(key, path);
      return path;
    },
    close() {
      for (const server of servers) server.close();
    },
  };
}

/** Variables for programs, under both spellings; what the caller set stays. */
export function proxyEnv(env: Readonly<Record<string, string>>): Record<string, string> {
  const url = `http://127.0.0.1:${INSIDE_PORT}`;
  const names = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);
  return { ...Object.fromEntries(names.map((name) => [name, url])), ...env };
}

/** Shell text that starts the forwarder inside and waits until it listens. */
export function forwarderPrelude(node: string): string {
  const start = `env -i ${shWord(node)} -e ${shWord(FORWARDER)} </dev/null >/dev/null 2>&1`;
  return [
    `mkfifo ${READY}`,
    `{ ${start}; echo failed >${READY}; } & read -r haft_proxy <${READY}`,
    `rm -f ${READY}`,
    `[ "$haft_proxy" = ok ] || { echo 'The forwarder to the proxy did not start' >&2; exit 126; }`,
    'unset haft_proxy; ',
  ].join('; ');
}

const FORWARDER = `
const net = require('net');
net.createServer({ allowHalfOpen: false }, (inner) => {
  const outer = net.connect('${INSIDE_PROXY}');
  inner.pipe(outer).pipe(inner);
  inner.on('error', () => outer.destroy()).on('close', () => outer.destroy());
  outer.on('error', () => inner.destroy()).on('close', () => inner.destroy());
}).listen(${INSIDE_PORT}, '127.0.0.1', () => require('fs').writeFileSync('${READY}', 'ok\\n'));
`;
