// Owns: the proof that a call ends when its time is over or its caller leaves, whatever the tool does, and that progress is told.
// Refuses: builtins: they are quick; slow tools come from the embedding program.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { createDaemon } from '../../src/hosts/daemon/create-daemon.ts';
import { serveStdio } from '../../src/hosts/mcp/serve-stdio.ts';
import { createRuntime, type DefaultRuntime, defineBuiltin, type EventMessage } from '../../src/index.ts';
import { inTime } from './support/in-time.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

/** Far more than a call takes, far less than the slow tools would. */
const SOON = 60_000;
const NEVER = 3_600_000;

interface Bench {
  readonly runtime: DefaultRuntime;
  readonly workspace: Workspace;
  /** Resolves when a slow tool has begun. */
  begun(): Promise<void>;
  /** The outcome that the audit has for the last call. */
  outcome(): Promise<string | undefined>;
}

async function benched(haftYaml: string, work: (bench: Bench) => Promise<void>): Promise<void> {
  const workspace = makeWorkspace({ 'haft.yaml': haftYaml });
  const begin = new PassThrough();
  const runtime = await createRuntime({
    workspace: workspace.root,
    tools: slowTools(() => begin.write('.')),
  });
  try {
    await work({
      runtime,
      workspace,
      begun: async () => void (await inTime(once(begin, 'data'), 'the tool')),
      outcome: async () => (await runtime.audit.rows({ last: 1 }))[0]?.outcome,
    });
  } finally {
    await runtime.close();
    workspace.remove();
  }
}

const SHORT = { timeoutMs: 100, maxInputBytes: 1000, maxOutputBytes: 1000 };
const LONG = { ...SHORT, timeoutMs: NEVER };
const ANYTHING = { type: 'object' } as const;

function slowTools(begin: () => void) {
  const base = { description: 'Takes its time.', input: ANYTHING, output: ANYTHING, limits: LONG };
  const forever = () => new Promise<never>(() => {});
  return [
    defineBuiltin({
      ...base,
      id: 'heeds',
      title: 'Heeds its signal',
      limits: SHORT,
      effects: () => [],
      run: (_args: object, ctx) =>
        new Promise<object>((_, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason), { once: true });
        }),
    }),
    defineBuiltin({
      ...base,
      id: 'ignores',
      title: 'Ignores its signal',
      limits: SHORT,
      effects: () => [],
      run: forever,
    }),
    defineBuiltin({
      ...base,
      id: 'endless',
      title: 'Has all the time of the world',
      effects: () => [],
      run() {
        begin();
        return forever();
      },
    }),
    defineBuiltin({
      ...base,
      id: 'holds',
      title: 'Holds the lock of a file',
      mutates: true,
      effects: () => [{ kind: 'fs.write', path: 'held.txt' }],
      run() {
        begin();
        return forever();
      },
    }),
    defineBuiltin({
      ...base,
      id: 'steps',
      title: 'Tells how far it is',
      effects: () => [],
      async run(_args: object, ctx) {
        for (const pct of [10, 50, 50, 100]) ctx.progress({ pct, message: `${pct} done` });
        return {};
      },
    }),
  ];
}

const reasonOf = (response: { errors: readonly { reason: string }[] }) => response.errors[0]?.reason;

describe('the time limit', () => {
  for (const tool of ['heeds', 'ignores']) {
    it(`ends a tool that ${tool} its signal, and the audit says timeout`, () =>
      benched('version: 1\n', async ({ runtime, outcome }) => {
        const response = await inTime(runtime.call({ tool, args: {} }), tool, SOON);
        assert.equal(reasonOf(response), 'time.deadline');
        assert.equal(response.errors[0]?.code, 'E_TIMEOUT');
        assert.equal(response.errors[0]?.retryable, true);
        assert.equal(await outcome(), 'timeout');
      }));
  }

  it('of the policy holds where it is the smaller one', () =>
    benched('version: 1\nlimits: { timeout_ms: 100 }\n', async ({ runtime }) => {
      assert.equal(
        reasonOf(await inTime(runtime.call({ tool: 'endless', args: {} }), 'endless', SOON)),
        'time.deadline',
      );
    }));

  it('holds while a call waits for the lock of another, which is let go with its holder', () =>
    benched('version: 1\n', async ({ runtime, workspace, begun, outcome }) => {
      const holder = new AbortController();
      const holding = runtime.call({ tool: 'holds', args: {} }, { signal: holder.signal });
      await begun();
      const write = { tool: 'file_write', args: { path: 'held.txt', content: 'x' } };
      const { loaded } = runtime.policy.current;
      await runtime.policy.replace({ ...loaded, file: { version: 1, limits: { timeout_ms: 200 } } });
      assert.equal(
        reasonOf(await inTime(runtime.call(write), 'a call behind a lock', SOON)),
        'time.deadline',
      );
      assert.equal(await outcome(), 'timeout');
      assert.equal(existsSync(workspace.path('held.txt')), false);
      await runtime.policy.replace(loaded);
      const waiting = runtime.call(write);
      holder.abort();
      assert.equal(reasonOf(await inTime(holding, 'the holder', SOON)), 'time.cancelled');
      assert.equal((await inTime(waiting, 'the next holder', SOON)).ok, true);
    }));
});

describe('cancellation', () => {
  it('ends a call at once, and the audit says cancelled', () =>
    benched('version: 1\n', async ({ runtime, begun, outcome }) => {
      const caller = new AbortController();
      const running = runtime.call({ tool: 'endless', args: {} }, { signal: caller.signal });
      await begun();
      caller.abort();
      assert.equal(reasonOf(await inTime(running, 'a cancelled call', SOON)), 'time.cancelled');
      assert.equal(await outcome(), 'cancelled');
    }));

  it('before the start lets nothing begin', () =>
    benched('version: 1\n', async ({ runtime, workspace, outcome }) => {
      const signal = AbortSignal.abort();
      for (const call of [
        { tool: 'endless', args: {} },
        { tool: 'file_write', args: { path: 'new.txt', content: 'x' } },
      ]) {
        assert.equal(
          reasonOf(await inTime(runtime.call(call, { signal }), call.tool, SOON)),
          'time.cancelled',
        );
        assert.equal(await outcome(), 'cancelled');
      }
      assert.equal(existsSync(workspace.path('new.txt')), false);
    }));

  it('by hanging up ends the call over HTTP', () =>
    benched('version: 1\n', async ({ runtime, begun }) => {
      const tokens = { calls: 'calling', management: 'managing' };
      const daemon = await createDaemon({ runtime, version: '0', host: '127.0.0.1', port: 0, tokens });
      try {
        const finished = finish(runtime);
        const sent = request(`${daemon.address}/v1/call`, {
          method: 'POST',
          headers: { authorization: `Bearer ${tokens.calls}` },
        });
        sent.on('error', () => {});
        sent.end('{"tool":"endless","args":{}}');
        await begun();
        sent.destroy();
        await inTime(finished, 'a call whose caller hung up', SOON);
        assert.equal((await runtime.audit.rows({ last: 1 }))[0]?.outcome, 'cancelled');
      } finally {
        await daemon.close();
      }
    }));

  it('by notification ends the call over MCP, which gets no answer', () =>
    benched('version: 1\n', async ({ runtime, begun }) => {
      const { say, lines, end } = mcpOver(runtime);
      const finished = finish(runtime);
      say({ id: 1, method: 'tools/call', params: { name: 'endless', arguments: {} } });
      await begun();
      say({ method: 'notifications/cancelled', params: { requestId: 1 } });
      await inTime(finished, 'a cancelled call', SOON);
      assert.equal((await runtime.audit.rows({ last: 1 }))[0]?.outcome, 'cancelled');
      say({ id: 2, method: 'ping' });
      assert.equal(JSON.parse((await lines.next()).value as string).id, 2);
      await end();
    }));
});

describe('progress', () => {
  it('is told to the caller and to subscribers, with the ids of the call', () =>
    benched('version: 1\n', async ({ runtime }) => {
      const heard: EventMessage[] = [];
      const overheard: EventMessage[] = [];
      const unsubscribe = runtime.subscribe((event) => void overheard.push(event));
      await runtime.call(
        { tool: 'steps', args: {}, requestId: 'req-1' },
        { onEvent: (event) => void heard.push(event) },
      );
      unsubscribe();
      const steps = heard.filter(({ event }) => event === 'TaskProgress');
      assert.deepEqual(
        steps.map(({ progress }) => progress?.pct),
        [10, 50, 50, 100],
      );
      for (const step of steps) {
        assert.equal(step.type, 'EventMessage');
        assert.equal(step.request_id, 'req-1');
        assert.equal(step.session_id, runtime.defaultSession);
      }
      assert.deepEqual(overheard, heard);
      await runtime.call({ tool: 'steps', args: {} });
      assert.equal(overheard.length, heard.length, 'nothing more after unsubscribing');
    }));

  it('over MCP grows with every notification', () =>
    benched('version: 1\n', async ({ runtime }) => {
      const { say, lines, end } = mcpOver(runtime);
      say({
        id: 1,
        method: 'tools/call',
        params: { name: 'steps', arguments: {}, _meta: { progressToken: 'p' } },
      });
      const seen: number[] = [];
      for (;;) {
        const message = JSON.parse((await inTime(lines.next(), 'progress', SOON)).value as string);
        if (message.id === 1) break;
        assert.equal(message.method, 'notifications/progress');
        assert.equal(message.params.progressToken, 'p');
        seen.push(message.params.progress);
      }
      assert.equal(seen.length, 4);
      assert.deepEqual(
        seen.toSorted((a, b) => a - b),
        seen,
      );
      assert.equal(new Set(seen).size, 4);
      await end();
    }));
});

/** Resolves with the next call that ends. */
function finish(runtime: DefaultRuntime): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = runtime.subscribe(({ event }) => {
      if (event !== 'CallFinished') return;
      unsubscribe();
      resolve();
    });
  });
}

function mcpOver(runtime: DefaultRuntime) {
  const input = new PassThrough();
  const output = new PassThrough();
  const server = serveStdio(async () => runtime, '0', { input, output });
  return {
    say: (message: object) => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    lines: createInterface(output)[Symbol.asyncIterator](),
    async end() {
      input.end();
      await server.ended;
    },
  };
}
