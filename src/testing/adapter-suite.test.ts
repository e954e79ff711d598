import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AdapterConnection, InvocationResult } from '../contract/adapter.ts';
import { fail } from '../contract/errors.ts';
import { ADAPTER_CASES, type AdapterEnvironment } from './adapter-suite.ts';
import { failingCases } from './conformance.ts';

interface Sound extends AdapterConnection {
  /** Loses the other side; the next call finds a new one. */
  crash(): Promise<void>;
  waits(): number;
}

/** A small adapter that is right, in few lines, so that each broken one differs from it in one thing. */
function soundConnection(): Sound {
  const closing = new AbortController();
  let side = new AbortController();
  let waits = 0;
  const until = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      const end = () => reject(signal.reason);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
  const RUN: Record<
    string,
    (args: unknown, signal: AbortSignal, progress: (p: { pct: number }) => void) => Promise<InvocationResult>
  > = {
    echo: async (args) => ({ ok: true, data: args }),
    fail: async () => ({ ok: false, message: 'as asked' }),
    big: async () => ({ ok: true, data: { text: 'x'.repeat(256 * 1024) } }),
    wait: (_args, signal, progress) => {
      waits++;
      progress({ pct: 50 });
      return until(signal);
    },
  };
  return {
    async invoke({ tool, args, signal, progress }) {
      signal.throwIfAborted();
      closing.signal.throwIfAborted();
      const run = RUN[tool];
      if (!run) throw fail('tool.unknown', 'no');
      return run(args, AbortSignal.any([signal, closing.signal, side.signal]), progress);
    },
    async crash() {
      side.abort(fail('call.outcome_unknown', 'lost'));
      side = new AbortController();
    },
    waits: () => waits,
    health: async () => ({ status: closing.signal.aborted ? 'unhealthy' : 'ready', checkedTs: null }),
    close: async () => closing.abort(fail('call.outcome_unknown', 'closed')),
  };
}

const BROKEN: Readonly<Record<string, (sound: Sound) => Sound>> = {
  'answers every call with the first answer': (sound) => {
    let first: Promise<InvocationResult> | undefined;
    return {
      ...sound,
      invoke(call) {
        if (call.tool !== 'echo') return sound.invoke(call);
        first ??= sound.invoke(call);
        return first;
      },
    };
  },
  'throws where the tool failed': (sound) => ({
    ...sound,
    async invoke(call) {
      const answer = await sound.invoke(call);
      if (!answer.ok) throw new Error(answer.message);
      return answer;
    },
  }),
  'masks the failure': (sound) => ({
    ...sound,
    async invoke(call) {
      const answer = await sound.invoke(call);
      return answer.ok ? answer : { ok: true, data: null };
    },
  }),
  'ignores cancellation': (sound) => ({
    ...sound,
    invoke: (call) => sound.invoke({ ...call, signal: new AbortController().signal }),
  }),
  'swallows progress': (sound) => ({
    ...sound,
    invoke: (call) => sound.invoke({ ...call, progress: () => {} }),
  }),
  'throws plain errors': (sound) => ({
    ...sound,
    invoke: (call) =>
      call.tool === 'no_such_tool' ? Promise.reject(new Error('what?')) : sound.invoke(call),
  }),
  'is never ready': (sound) => ({ ...sound, health: async () => ({ status: 'unhealthy', checkedTs: null }) }),
  'is ready for ever': (sound) => ({ ...sound, health: async () => ({ status: 'ready', checkedTs: null }) }),
  'does not close': (sound) => ({ ...sound, close: async () => {} }),
  'cuts long answers': (sound) => ({
    ...sound,
    invoke: async (call) =>
      call.tool === 'big' ? { ok: true, data: { text: 'x'.repeat(65_536) } } : sound.invoke(call),
  }),
  'calls a lost call failed': (sound) => ({
    ...sound,
    invoke: (call) =>
      sound.invoke(call).catch((thrown) => {
        if (thrown.reason !== 'call.outcome_unknown') throw thrown;
        return { ok: false, message: 'lost' } as const;
      }),
  }),
  'sends a lost call again': (sound) => ({
    ...sound,
    async invoke(call) {
      try {
        return await sound.invoke(call);
      } catch (thrown) {
        if ((thrown as { reason?: string }).reason !== 'call.outcome_unknown') throw thrown;
        return sound.invoke({ ...call, signal: AbortSignal.any([call.signal, AbortSignal.timeout(20)]) });
      }
    },
  }),
  'never comes back': (sound) => {
    let lost = false;
    return {
      ...sound,
      async crash() {
        lost = true;
        await sound.crash();
      },
      invoke: (call) => (lost ? Promise.reject(fail('tool.unhealthy', 'gone')) : sound.invoke(call)),
    };
  },
  'loses track of calls when the other side is lost': (sound) => {
    let lost = false;
    return {
      ...sound,
      async crash() {
        lost = true;
        await sound.crash();
      },
      invoke: (call) => (lost && call.tool === 'echo' ? new Promise(() => {}) : sound.invoke(call)),
    };
  },
};

const open = (connection: Sound): Promise<AdapterEnvironment> =>
  Promise.resolve({
    connection,
    patienceMs: 300,
    tools: { echo: 'echo', fail: 'fail', wait: 'wait', big: 'big' },
    crash: () => connection.crash(),
    waits: () => connection.waits(),
    close: async () => connection.close(),
  });

describe('adapterSuite', { concurrency: true }, () => {
  it('passes on a sound adapter', async () => {
    assert.deepEqual(await failingCases(ADAPTER_CASES, () => open(soundConnection())), []);
  });
  for (const [fault, breakIt] of Object.entries(BROKEN)) {
    it(`fails on an adapter that ${fault}`, async () => {
      assert.notDeepEqual(await failingCases(ADAPTER_CASES, () => open(breakIt(soundConnection()))), []);
    });
  }
});
