// Owns: for tests, servers of a few lines each, over real pipes and real HTTP, with the adapter connected to them.
// Refuses: to be proper servers; `server-for-tests.ts` is one.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withPrograms } from '../../capabilities/exec/programs-for-tests.ts';
import { createHttpCapability } from '../../capabilities/http/handle.ts';
import { createHttpScope } from '../../capabilities/http/servers-for-tests.ts';
import type { JsonObject } from '../../contract/json.ts';
import { boundTool, installationOf } from '../../contract/tools-for-tests.ts';
import { handlesOn, stillPace } from '../fixtures-for-tests.ts';
import type { ServerConnection, ServerDeps } from '../server-adapter.ts';
import { createMcpAdapter } from './mcp.ts';

const TOOL = [boundTool('odd.x', 'mcp', { name: 'x' })];

/** Answers `initialize` and `tools/call`; `odd` sees every message first and answers whether it dealt with it. */
const scripted = (odd: string) => `
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const odd = (message) => { ${odd} };
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  const { id, method, params } = message;
  if (odd(message)) return;
  if (method === 'initialize') say({ id, result: { protocolVersion: params.protocolVersion, capabilities: {}, serverInfo: {} } });
  else if (method === 'tools/call') say({ id, result: { content: [{ type: 'text', text: 'called' }] } });
  else if (id !== undefined) say({ id, error: { code: -32601, message: 'unknown' } });
});`;

export async function withScripted<T>(
  odd: string,
  use: (connection: ServerConnection) => Promise<T>,
  config: JsonObject = {},
  deps: Partial<ServerDeps> = {},
): Promise<T> {
  return withPrograms({}, async (fixture) => {
    const adapter = createMcpAdapter({ handlesFor: handlesOn(fixture), scheduler: stillPace(), ...deps });
    const command = ['node', '-e', scripted(odd)];
    const connection = adapter.open(installationOf('odd', { command, ...config }), TOOL);
    try {
      return await use(connection);
    } finally {
      await connection.close();
    }
  });
}

export type Route = (
  message: JsonObject | undefined,
  request: IncomingMessage,
  response: ServerResponse,
) => void;

export async function withRoute<T>(
  route: Route,
  use: (connection: ServerConnection, close: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    route(body === '' ? undefined : JSON.parse(body), request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = createHttpCapability();
  const handles = { exec: undefined as never, http: http.open(createHttpScope()) };
  const adapter = createMcpAdapter({ handlesFor: () => handles });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const connection = adapter.open(
    installationOf('odd', { url, headers: { authorization: 'Bearer t' } }),
    TOOL,
  );
  /** From then on its port refuses connections. */
  const close = async () => {
    const closed = server.listening ? once(server, 'close') : undefined;
    server.closeAllConnections();
    server.close();
    await closed;
  };
  try {
    return await use(connection, close);
  } finally {
    await connection.close();
    await http.close();
    await close();
  }
}
