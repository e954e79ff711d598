// Owns: what every adapter must do: answer, fail, cancel, report, close.
// Refuses: transports; the environment says which of its tools echoes, fails, waits and reports progress.
import assert from 'node:assert/strict';
import type { AdapterConnection, Invocation } from '../contract/adapter.ts';
import { isFailure } from '../contract/errors.ts';
import { type ConformanceCase, type Environment, registerCases } from './conformance.ts';

export interface AdapterEnvironment extends Environment {
  readonly connection: AdapterConnection;
  /** How long an answer may take before the leaf counts as hung; 5 s by default. */
  readonly patienceMs?: number;
  /** Ids of the fixture tools that the adapter reaches. */
  readonly tools: {
    /** Answers its arguments. */
    readonly echo: string;
    /** Answers a failure of its own, with the words "as asked". */
    readonly fail: string;
    /** Reports 50 per cent, then waits until it is cancelled. */
    readonly wait: string;
  };
}

export const ADAPTER_CASES: readonly ConformanceCase<AdapterEnvironment>[] = [
  {
    name: 'invoke answers what the tool answered',
    async run({ connection, tools }) {
      const args = { text: 'grüße\n"quoted"', nested: { list: [1, null, true] } };
      assert.deepEqual(await connection.invoke(invocation(tools.echo, args)), { ok: true, data: args });
    },
  },
  {
    name: 'invoke keeps many calls at once apart',
    async run({ connection, tools }) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => connection.invoke(invocation(tools.echo, { n }))),
      );
      assert.deepEqual(
        answers,
        answers.map((_, n) => ({ ok: true, data: { n } })),
      );
    },
  },
  {
    name: "invoke answers a tool's own failure as an answer, with its words",
    async run({ connection, tools }) {
      const answer = await connection.invoke(invocation(tools.fail, {}));
      assert.ok(!answer.ok && answer.message.includes('as asked'), JSON.stringify(answer));
    },
  },
  {
    name: 'invoke rejects a tool that is not there with a failure of the table',
    async run({ connection }) {
      await assert.rejects(connection.invoke(invocation('no_such_tool', {})), (thrown) => isFailure(thrown));
    },
  },
  {
    name: 'invoke passes progress on and ends when it is cancelled, with the reason of the signal',
    async run({ connection, tools, patienceMs }) {
      const controller = new AbortController();
      const reason = new Error('cancelled by the suite');
      const seen: unknown[] = [];
      const call = invocation(tools.wait, {}, controller.signal, (progress) => {
        seen.push(progress.pct);
        controller.abort(reason);
      });
      await assert.rejects(within(connection.invoke(call), patienceMs), (thrown) => thrown === reason);
      assert.deepEqual(seen, [50]);
    },
  },
  {
    name: 'invoke still works after a call was cancelled',
    async run({ connection, tools, patienceMs }) {
      const call = invocation(tools.wait, {}, AbortSignal.abort(new Error('at once')));
      await assert.rejects(within(connection.invoke(call), patienceMs));
      assert.deepEqual(await connection.invoke(invocation(tools.echo, { again: true })), {
        ok: true,
        data: { again: true },
      });
    },
  },
  {
    name: 'health says ready',
    async run({ connection }) {
      assert.equal((await connection.health(new AbortController().signal)).status, 'ready');
    },
  },
  {
    name: 'close rejects what is under way, can be repeated, and refuses later calls',
    async run({ connection, tools, patienceMs }) {
      const started = Promise.withResolvers<void>();
      const underWay = connection.invoke(invocation(tools.wait, {}, undefined, () => started.resolve()));
      underWay.catch(() => {});
      await within(started.promise, patienceMs);
      await connection.close();
      await connection.close();
      await assert.rejects(within(underWay, patienceMs), (thrown) => isFailure(thrown));
      await assert.rejects(within(connection.invoke(invocation(tools.echo, {})), patienceMs), (thrown) =>
        isFailure(thrown),
      );
    },
  },
];

export function adapterSuite(name: string, open: () => Promise<AdapterEnvironment>): void {
  registerCases(`${name} is an adapter`, ADAPTER_CASES, open);
}

function invocation(
  tool: string,
  args: unknown,
  signal: AbortSignal = new AbortController().signal,
  progress: Invocation['progress'] = () => {},
): Invocation {
  return { tool, args, callId: 'call_suite', signal, progress };
}

/** A leaf that hangs fails its case instead of hanging the suite. */
async function within<T>(promise: Promise<T>, ms = 5_000): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new assert.AssertionError({ message: `no answer within ${ms} ms` })),
    ms,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
