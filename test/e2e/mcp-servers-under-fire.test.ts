// Owns: MCP servers that are killed and started again under load, through all of Haft: every call is answered once, and what
// cannot be repeated arrives once at most.
// Refuses: to believe answers alone: what each server received is written down inside of it.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { crashPrograms } from '../../src/adapters/fixtures-for-tests.ts';
import { MODULES, SERVER } from '../../src/adapters/mcp/mcp-for-tests.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../src/preset/default.ts';
import { eventually } from '../support/eventually.ts';
import { receivedCalls, TAP } from './support/tap.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

interface Fire {
  readonly name: string;
  /** Beside Node, and the module that listens in. */
  command(root: string): readonly string[];
  /** Of a server that is a service on this machine, and is not started by Haft. */
  readonly http?: boolean;
  readonly config?: JsonObject;
  readonly env?: (root: string) => Readonly<Record<string, string>>;
  /** What may be sent again: with an argument that tells the calls apart. */
  reads(n: number, root: string): readonly [tool: string, args: JsonObject];
  /** What must not. */
  writes(n: number, root: string): readonly [tool: string, args: JsonObject];
  /** The same, where it only ends with the server. */
  hangs?(n: number, root: string): readonly [tool: string, args: JsonObject];
  /** Finds that argument again in what was received. */
  markOf(args: JsonObject): unknown;
}

const script = (name: string) => join(MODULES, '@modelcontextprotocol', name, 'dist/index.js');
const seconds = (n: number) => (40_000 + n) / 1_000_000;

const everything = {
  reads: (n: number) => ['echo', { message: `m${n}` }] as const,
  writes: (n: number) => ['trigger_long_running_operation', { duration: seconds(n), steps: 1 }] as const,
  markOf: ({ message, duration }: JsonObject) => message ?? duration,
  // It says of itself that this only reads.
  config: { overlays: { 'trigger-long-running-operation': { mutates: true, idempotent: false } } },
};
const sdk = {
  reads: (n: number) => ['plain', { mark: `m${n}` }] as const,
  writes: (n: number) => ['echo', { mark: n }] as const,
  hangs: (n: number) => ['wait', { mark: n }] as const,
  markOf: ({ mark }: JsonObject) => mark,
};

const FIRES: readonly Fire[] = [
  {
    ...everything,
    name: 'server-everything over pipes, 2025-11-25',
    command: () => [script('server-everything'), 'stdio'],
  },
  {
    ...everything,
    name: 'server-everything over streamable HTTP, 2025-11-25',
    http: true,
    command: () => [script('server-everything'), 'streamableHttp'],
  },
  {
    name: 'server-filesystem over pipes, 2025-11-25',
    command: (root) => [script('server-filesystem'), root],
    config: { caps: { filesystem: { read: ['server'], write: ['work', 'tap'] } } },
    reads: (n, root) => ['search_files', { path: join(root, 'work'), pattern: `m${n}` }],
    writes: (n, root) => [
      'edit_file',
      { path: join(root, 'work/log.txt'), edits: [{ oldText: 'end', newText: `line ${n}\nend` }] },
    ],
    markOf: ({ pattern, edits }) => pattern ?? (edits as unknown as { newText: string }[])[0]?.newText,
  },
  {
    name: 'server-memory over pipes, 2025-11-25',
    command: () => [script('server-memory')],
    config: { caps: { filesystem: { read: ['server'], write: ['work', 'tap'] } } },
    env: (root) => ({ MEMORY_FILE_PATH: join(root, 'work/memory.json') }),
    reads: (n) => ['search_nodes', { query: `m${n}` }],
    writes: (n) => [
      'create_entities',
      { entities: [{ name: `entity ${n}`, entityType: 'test', observations: [] }] },
    ],
    markOf: ({ query, entities }) => query ?? (entities as unknown as { name: string }[])[0]?.name,
  },
  {
    ...sdk,
    name: 'a server of the SDK over pipes, 2026-07-28',
    command: () => [SERVER, 'stdio', 'modern'],
    config: { parts: [MODULES], protocol: '2026-07-28' },
  },
  {
    ...sdk,
    name: 'a server of the SDK over streamable HTTP, 2026-07-28',
    http: true,
    command: () => [SERVER, 'http', 'modern'],
    config: { protocol: '2026-07-28' },
  },
];

const IN_FLIGHT = 24;
const FEW = 3;
/** Crashes are what this is about: it is not to be left alone for long because of them. */
const HEALTH = { interval_ms: 300 };
const MOST_KILLS = 12;

/** What a call ends with that could not be sent; what only reads may have been sent before that. */
const NOT_SENT = ['tool.unhealthy', 'http.failed'];

interface Called {
  readonly kind: 'reads' | 'writes';
  readonly mark: unknown;
  readonly callId: string;
  readonly outcome: string;
}

describe('MCP servers that are killed under load', { timeout: 240_000 }, () => {
  for (const fire of FIRES) {
    it(fire.name, () =>
      withFire(fire, async ({ runtime, root, kill, received }) => {
        const calls: Called[] = [];
        let last = 0;
        const call = async (kind: Called['kind'], [tool, args]: readonly [string, JsonObject]) => {
          const { ok, callId, errors } = await runtime.call({ tool: `hub.${tool}`, args });
          calls.push({ kind, mark: fire.markOf(args), callId, outcome: ok ? 'ok' : errors[0]!.reason });
        };
        const batch = (write: Fire['writes'], length = IN_FLIGHT) =>
          Array.from({ length }, (_, n) => {
            last++;
            return n % 3 === 0 ? call('reads', fire.reads(last, root)) : call('writes', write(last, root));
          });

        /** After several crashes it is left alone for a while. */
        const foundAgain = () =>
          eventually(
            async () => (await runtime.call(requestOf(fire.reads(++last, root)))).ok,
            'it is found again',
          );

        let kills = 0;
        const lost = () => calls.filter(({ outcome }) => outcome === 'call.outcome_unknown').length;
        while (kills < 3 || (lost() === 0 && kills < MOST_KILLS)) {
          await foundAgain();
          await Promise.all(batch(fire.writes));
          const before = received().length;
          const running = fire.hangs ? batch(fire.hangs, FEW) : batch(fire.writes);
          let over = false;
          const answered = Promise.all(running).then(() => {
            over = true;
          });
          await eventually(() => over || received().length > before, 'a call arrives');
          await kill();
          kills++;
          // What had not left yet goes to the next server, and may hang there.
          while (fire.hangs && !over) {
            const arrived = received().length;
            await eventually(
              () => over || received().length > arrived,
              'all are answered, or another arrives',
            );
            if (!over) await kill();
          }
          await answered;
        }
        await foundAgain();

        assert.ok(lost() > 0, 'some were under way');
        const times = Map.groupBy(received().map(fire.markOf as (args: unknown) => unknown), (mark) => mark);
        for (const { kind, mark, outcome } of calls) {
          const arrived = times.get(mark)?.length ?? 0;
          const what = `${kind} ${JSON.stringify(mark)}: ${outcome}, arrived ${arrived} times`;
          assert.ok(['ok', 'call.outcome_unknown', ...NOT_SENT].includes(outcome), what);
          if (kind === 'writes') assert.ok(arrived <= 1, what);
          if (outcome === 'ok') assert.ok(arrived >= 1, what);
          if (NOT_SENT.includes(outcome) && kind === 'writes') assert.equal(arrived, 0, what);
        }
        const rows = (await runtime.audit.rows({ limit: 10_000 })).filter(({ phase }) => phase === 'outcome');
        const recorded = Map.groupBy(rows, ({ callId }) => callId);
        for (const { callId, outcome } of calls) {
          const [row, ...more] = recorded.get(callId) ?? [];
          assert.deepEqual([more.length, row?.outcome === 'ok'], [0, outcome === 'ok'], callId);
        }
      }),
    );
  }
});

const requestOf = ([tool, args]: readonly [string, JsonObject]) => ({ tool: `hub.${tool}`, args });

interface UnderFire {
  readonly runtime: DefaultRuntime;
  readonly root: string;
  kill(): Promise<void>;
  received(): readonly JsonObject[];
}

async function withFire(fire: Fire, use: (site: UnderFire) => Promise<void>): Promise<void> {
  const workspace = makeWorkspace({ 'server/tap.mjs': TAP, 'work/log.txt': 'end', 'tap/received': '' });
  const { root } = workspace;
  const args = [`--import=${workspace.path('server/tap.mjs')}`, ...fire.command(root)];
  const service = fire.http ? await startService(args, workspace) : undefined;
  try {
    const pack = service
      ? { url: `http://127.0.0.1:${service.port}/mcp`, health: HEALTH, ...fire.config }
      : {
          command: ['node', ...args],
          health: HEALTH,
          caps: { filesystem: { read: ['server'], write: ['tap'] } },
          env: { set: { TAP_FILE: workspace.path('tap/received'), ...fire.env?.(root) } },
          ...fire.config,
        };
    const network = service
      ? { network: { allowed_domains: [{ domain: `127.0.0.1:${service.port}`, private: true }] } }
      : {};
    workspace.put(
      'haft.yaml',
      JSON.stringify({ version: 1, ...network, packs: [{ name: 'hub', mcp: pack }] }),
    );
    const warnings: string[] = [];
    const runtime = await createDefaultRuntime({ workspace: root, onWarning: (line) => warnings.push(line) });
    try {
      assert.ok(!warnings.some((line) => line.includes('not known')), warnings.join('\n'));
      await use({
        runtime,
        root,
        kill: service?.restart ?? (async () => crashPrograms('node', root)),
        received: () =>
          receivedCalls(readFileSync(workspace.path('tap/received'), 'utf8')) as readonly JsonObject[],
      });
    } finally {
      await runtime.close();
    }
  } finally {
    await service?.stop();
    workspace.remove();
  }
}

/** As somebody else would run it: outside of Haft, at one port. */
async function startService(args: readonly string[], workspace: Workspace) {
  const port = await freePort();
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [...args, String(port)], {
      env: {
        ...process.env,
        PORT: String(port),
        TAP_OF: 'http',
        TAP_FILE: workspace.path('tap/received'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ready = Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]);
    child.stdout.resume();
    child.stderr.resume();
    await ready;
    return child;
  };
  const stop = async (child: ChildProcess) => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  let current = await start();
  return {
    port,
    async restart() {
      await stop(current);
      current = await start();
    },
    stop: () => stop(current),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
