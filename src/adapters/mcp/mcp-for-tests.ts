// Owns: for tests, the adapter connected to the fixture server in each of its four forms.
// Refuses: to leave a server behind.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { CallHandles } from '../../contract/adapter.ts';
import type { ExecHandle } from '../../contract/exec.ts';
import type { HttpHandle } from '../../contract/http.ts';
import type { JsonObject } from '../../contract/json.ts';
import { installationOf } from '../../contract/tools-for-tests.ts';
import { crashPrograms } from '../fixtures-for-tests.ts';
import type { Discovery, ServerConnection, ServerDeps } from '../server-adapter.ts';
import { createMcpAdapter } from './mcp.ts';

export const SERVER = join(import.meta.dirname, 'server-for-tests.ts');
export const MODULES = join(import.meta.dirname, '../../../node_modules');

export const FORMS = [
  ['stdio', 'modern'],
  ['stdio', 'handshake'],
  ['http', 'modern'],
  ['http', 'handshake'],
] as const;
export type Form = (typeof FORMS)[number];

export interface McpFixture {
  readonly connection: ServerConnection;
  readonly discovery: Discovery;
  /** Ends the server as a crash would; over HTTP another one takes its place at the same port. */
  crash(): Promise<void>;
}

export interface McpFixtureOptions {
  readonly config?: JsonObject;
  readonly handles?: Partial<ServerDeps>;
}

export async function withMcp<T>(
  [transport, era]: Form,
  outside: { exec(): ExecHandle; http(): HttpHandle },
  use: (fixture: McpFixture) => Promise<T>,
  { config = {}, handles = {} }: McpFixtureOptions = {},
): Promise<T> {
  const marker = `haft-marker-${process.pid}-${Math.random()}`;
  const remote = transport === 'http' ? await startHttpServer(era) : undefined;
  const where: JsonObject = remote
    ? { url: `http://127.0.0.1:${remote.port}/mcp` }
    : { command: ['node', SERVER, 'stdio', era, marker], parts: [MODULES] };
  const handlesFor = (): CallHandles => ({ exec: outside.exec(), http: outside.http() });
  const adapter = createMcpAdapter({ handlesFor, ...handles });
  const installation = installationOf('fixture', { ...where, ...config });
  const first = adapter.open(installation, []);
  try {
    const discovery = await first.discover(new AbortController().signal);
    await first.close();
    const connection = adapter.open(installation, discovery.tools);
    try {
      return await use({
        connection,
        discovery,
        async crash() {
          if (remote) await remote.restart();
          else crashPrograms('node', marker);
        },
      });
    } finally {
      await connection.close();
    }
  } finally {
    await first.close();
    await remote?.stop();
  }
}

/** On this machine's loopback, outside of any sandbox: as a service would be. */
async function startHttpServer(era: string) {
  const start = async (port: number) => {
    const child = spawn(process.execPath, [SERVER, 'http', era, String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    return { child, port: (JSON.parse(line) as { port: number }).port };
  };
  const stop = async ({ child }: { child: ReturnType<typeof spawn> }) => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  let current = await start(0);
  let last: Promise<void> = Promise.resolve();
  return {
    port: current.port,
    restart() {
      last = last.then(async () => {
        await stop(current);
        current = await start(current.port);
      });
      return last;
    },
    async stop() {
      await last;
      await stop(current);
    },
  };
}
