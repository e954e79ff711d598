import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AdapterConnection, InvocationResult } from '../contract/adapter.ts';
import { fail } from '../contract/errors.ts';
import { ADAPTER_CASES, type AdapterEnvironment } from './adapter-suite.ts';
import { failingCases } from './conformance.ts';

/** A small adapter that is right, in few lines, so that each broken one differs from it in one thing. */
function soundConnection(): AdapterConnection {
  const closing = new AbortController();
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
    wait: (_args, signal, progress) => {
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
      return run(args, AbortSignal.any([signal, closing.signal]), progress);
    },
    health: async () => ({ status: 'ready', checkedTs: null }),
    close: async () => closing.abort(fail('call.outcome_unknown', 'closed')),
  };
}

const BROKEN: Readonly<Record<string, (sound: AdapterConnection) => AdapterConnection>> = {
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
  'does not close': (sound) => ({ ...sound, close: async () => {} }),
};

const open = (connection: AdapterConnection): Promise<AdapterEnvironment> =>
  Promise.resolve({
    connection,
    patienceMs: 300,
    tools: { echo: 'echo', fail: 'fail', wait: 'wait' },
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
