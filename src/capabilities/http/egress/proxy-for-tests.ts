// Owns: a proxy that allows one host of loopback, and programs that talk to it byte by byte, for the tests of the proxy.
// Refuses: to follow the rules of HTTP: tests break them.
import { connect, type Socket } from 'node:net';
import type { EgressConnection, EgressDecision, EgressProxy, HttpTarget } from '../../../contract/http.ts';
import { createEgressProxy, type EgressProxyParts } from '../egress-proxy.ts';
import { onLoopback } from '../servers-for-tests.ts';

export interface TestProxy extends EgressProxy {
  readonly port: number;
  readonly records: EgressConnection[];
  readonly asked: HttpTarget[];
}

/** Allows `good.test` and what else is named, all as private: everything here is on loopback. */
export async function startProxy(
  options: Partial<EgressProxyParts> = {},
  also: readonly string[] = [],
): Promise<TestProxy> {
  const records: EgressConnection[] = [];
  const asked: HttpTarget[] = [];
  const made = await createEgressProxy({
    listen: { port: 0 },
    lookup: onLoopback,
    allow(target): EgressDecision {
      asked.push(target);
      return { allow: ['good.test', ...also].includes(target.host), private: true };
    },
    record: (connection) => void records.push(connection),
    ...options,
  });
  return Object.assign(made, { port: 'port' in made.address ? made.address.port : 0, records, asked });
}

/** Everything that comes back until the other side closes. */
export function talk(port: number, text: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(got));
  });
}

/** An open tunnel, or the answer that refused it. */
export function tunnel(port: number, authority: string): Promise<{ socket: Socket; head: string }> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`),
    );
    socket.on('error', () => {});
    socket.once('data', (head) => resolve({ socket, head: head.toString() }));
  });
}

export const status = (answer: string) => Number(answer.split(' ')[1]);
