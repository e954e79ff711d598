// Owns: what every adapter must do: answer, fail, cancel, report, close, and come back after the other side was lost.
// Refuses: transports; the environment says which of its tools echoes, fails, waits and reports progress.
import assert from 'node:assert/strict';
import type { AdapterConnection, Invocation, InvocationResult } from '../contract/adapter.ts';
import { isFailure } from '../contract/errors.ts';
import { type ConformanceCase, type Environment, inTime, registerCases } from './conformance.ts';

export interface AdapterEnvironment extends Environment {
  readonly connection: AdapterConnection;
  /** How long an answer may take before the leaf counts as hung; 5 s by default. */
  readonly patienceMs?: number;
  /** Ids of the fixture tools that the adapter reaches. */
  readonly tools: {
    /** Answers its arguments. */
    readonly echo: string;
    /** Answers a failure of its own, with the words "as asked". Its output schema is one that no failure fits. */
    readonly fail: string;
    /** Reports 50 per cent, then waits until it is cancelled. Not idempotent. */
    readonly wait: string;
    /** Answers one text of 256 KiB, `{text}`, where adapters have no smaller limit. */
    readonly big?: string;
  };
  /** How often `wait` has begun on the other side, where that can be counted. */
  waits?(): number;
  /** Loses the other side as a crash would, where there is one that can be lost while calls are under way. */
  crash?(): Promise<void>;
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
    name: 'invoke answers a long text whole',
    async run({ connection, tools }) {
      if (tools.big === undefined) return;
      const answer = await connection.invoke(invocation(tools.big, {}));
      assert.ok(answer.ok && (answer.data as { text: string }).text.length === 256 * 1024);
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
    name: 'invoke still works after a call was cancelled, before it began or while it ran',
    async run({ connection, tools, patienceMs }) {
      const call = invocation(tools.wait, {}, AbortSignal.abort(new Error('at once')));
      await assert.rejects(within(connection.invoke(call), patienceMs));
      const controller = new AbortController();
      const running = invocation(tools.wait, {}, controller.signal, () =>
        controller.abort(new Error('later')),
      );
      await assert.rejects(within(connection.invoke(running), patienceMs), /later/);
      assert.deepEqual(await connection.invoke(invocation(tools.echo, { again: true })), {
        ok: true,
        data: { again: true },
      });
    },
  },
  {
    name: 'invoke tells that the outcome is unknown when the other side is lost, sends nothing twice, and comes back',
    async run({ connection, tools, crash, waits, patienceMs }) {
      if (!crash) return;
      const started = Promise.withResolvers<void>();
      const underWay = connection.invoke(invocation(tools.wait, {}, undefined, () => started.resolve()));
      underWay.catch(() => {});
      await within(started.promise, patienceMs);
      await crash();
      await assert.rejects(within(underWay, patienceMs), { reason: 'call.outcome_unknown' });
      const again = await within(connection.invoke(invocation(tools.echo, { back: true })), patienceMs);
      assert.deepEqual(again, { ok: true, data: { back: true } });
      if (waits) assert.equal(waits(), 1);
    },
  },
  {
    name: 'invoke settles every call once while the other side is lost again and again',
    async run({ connection, tools, crash, patienceMs }) {
      if (!crash) return;
      const settled = Array.from({ length: 60 }, async (_, n) => {
        if (n % 20 === 10) await crash();
        return connection.invoke(invocation(tools.echo, { n })).then(
          (answer) => [n, answer] as const,
          (thrown: unknown) => [n, thrown] as const,
        );
      });
      for (const [n, outcome] of await within(Promise.all(settled), patienceMs)) {
        if (isFailure(outcome))
          assert.ok(['call.outcome_unknown', 'tool.unhealthy'].includes(outcome.reason));
        else assert.deepEqual(outcome, { ok: true, data: { n } } satisfies InvocationResult);
      }
    },
  },
  {
    name: 'health says ready',
    async run({ connection }) {
      assert.equal((await connection.health(new AbortController().signal)).status, 'ready');
    },
  },
  {
    name: 'health does not say ready after close',
    async run({ connection }) {
      await connection.close();
      assert.notEqual((await connection.health(new AbortController().signal)).status, 'ready');
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

const within = <T>(promise: Promise<T>, ms = 5_000): Promise<T> => inTime(promise, ms);
