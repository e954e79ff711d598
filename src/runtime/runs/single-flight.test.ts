import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { failedEnd } from '../../contract/backend.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { RunRequest } from '../../contract/runs.ts';
import {
  conducts,
  never,
  request,
  type Script,
  succeeded,
  ticket,
  waits,
  withRuns,
  writes,
} from './runs-for-tests.ts';

describe('runs.execute', () => {
  it('conducts an attempt, keeps its outputs and its log, and leaves no folder', () =>
    withRuns(async ({ runs, backend, folderOf }) => {
      const heard: string[] = [];
      const conduct: RunRequest['conduct'] = async (attempt) => {
        await attempt.log('about to begin');
        await attempt.checkpoint({ step: 1 });
        const answer = await conducts(attempt);
        assert.equal(Buffer.from(await attempt.read('stats', 100)).toString(), 'made');
        return answer;
      };
      const outcome = await runs.execute(
        request({ conduct, onOutput: (_stream, text) => heard.push(text) }),
        never(),
      );
      const { result, outputs } = outcome.data;
      assert.deepEqual(result, { fine: true });
      assert.deepEqual(
        outputs.map(({ role, type, label, size }) => ({ role, type, label, size })),
        [
          { role: 'stats', type: 'text/plain', label: 'Counts', size: 4 },
          { role: 'log', type: 'text/plain', label: 'Log', size: 'said\nabout to begin\n'.length },
        ],
      );
      assert.deepEqual(heard, ['said\n']);
      const { runId } = ticket(1);
      const run = await runs.get(runId);
      assert.equal(run.state, 'succeeded');
      assert.deepEqual(run.result?.data, outcome.data);
      const [attempt, ...others] = await runs.attempts(runId);
      assert.deepEqual(others, []);
      assert.deepEqual(
        [attempt?.state, attempt?.exitCode, attempt?.observed, attempt?.checkpoint],
        ['succeeded', 0, { seccomp: 2 }, { step: 1 }],
      );
      assert.deepEqual(backend.began, [attempt?.id]);
      assert.equal(folderOf(attempt?.id as string), false);
    }));

  it('of equal runs at the same moment executes one, and all get its answer', () =>
    withRuns(async ({ runs, backend, another }) => {
      const other = await another();
      const engines = [runs, other.runs, runs, other.runs, runs];
      const outcomes = await Promise.all(
        engines.map((one, n) => one.execute(request({ callId: `call_${n}` }), never())),
      );
      assert.equal(backend.began.length, 1);
      for (const { data } of outcomes) assert.deepEqual(data, outcomes[0]?.data);
    }));

  it('answers a result that somebody else made since it was looked for, unless it is not whole', () =>
    withRuns(async ({ runs, backend, another }) => {
      const first = await runs.execute(request(), never());
      const other = (await another()).runs;
      assert.deepEqual((await other.execute(request({ callId: 'call_2' }), never())).data, first.data);
      assert.equal(backend.began.length, 1);
    }));

  it('keeps different runs apart', () =>
    withRuns(async ({ runs, backend }) => {
      await Promise.all([1, 2, 3].map((n) => runs.execute(request({ n }), never())));
      assert.equal(backend.began.length, 3);
    }));

  it('executes a run that failed anew when it is asked for again', () =>
    withRuns(async ({ runs, backend }) => {
      backend.script = async () =>
        failedEnd('tool.exit', 'The program ended with the code 3', { exitCode: 3 });
      await assert.rejects(runs.execute(request(), never()), { reason: 'run.failed' });
      backend.script = writes();
      await runs.execute(request(), never());
      const attempts = await runs.attempts(ticket(1).runId);
      assert.deepEqual(
        attempts.map(({ number, state }) => [number, state]),
        [
          [1, 'failed'],
          [2, 'succeeded'],
        ],
      );
    }));
});

interface Failing {
  readonly what: string;
  readonly script?: Script;
  readonly conduct?: RunRequest['conduct'];
  readonly reason: string;
  readonly failure: string;
  readonly state: string;
  readonly attempts: number;
}

const ends =
  (cause: Parameters<typeof failedEnd>[0], exitCode: number | null = null): Script =>
  async () =>
    failedEnd(cause, `because of ${cause}`, { exitCode });

const FAILING: readonly Failing[] = [
  {
    what: 'a program that failed',
    script: ends('tool.exit', 3),
    reason: 'run.failed',
    failure: 'tool',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'outputs that are not as declared',
    script: ends('tool.outputs', 0),
    reason: 'run.outputs',
    failure: 'tool',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'a time-out',
    script: ends('limit.time'),
    reason: 'time.deadline',
    failure: 'limit',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'too little memory',
    script: ends('limit.memory', 0),
    reason: 'run.limit',
    failure: 'limit',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'an engine that failed',
    script: ends('infrastructure.engine'),
    reason: 'run.infrastructure',
    failure: 'infrastructure',
    state: 'failed',
    attempts: 3,
  },
  {
    what: 'an attempt that was lost',
    script: ends('lost'),
    reason: 'run.attempt_lost',
    failure: 'infrastructure',
    state: 'lost',
    attempts: 3,
  },
  {
    what: 'an attempt that somebody else cancelled',
    script: ends('cancelled'),
    reason: 'run.cancelled',
    failure: 'cancelled',
    state: 'cancelled',
    attempts: 1,
  },
  {
    what: 'a toolpack that throws',
    conduct: () => Promise.reject(fail('toolpack.failed', 'as asked')),
    reason: 'toolpack.failed',
    failure: 'tool',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'a toolpack that does not execute its plan',
    conduct: async () => ({}),
    reason: 'run.outputs',
    failure: 'tool',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'a toolpack that does not link what it declares',
    conduct: async (attempt) => {
      await attempt.execute();
      return {};
    },
    reason: 'run.outputs',
    failure: 'tool',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'a toolpack that links what it does not declare',
    conduct: async (attempt) => {
      await conducts(attempt);
      await attempt.link('more');
      return {};
    },
    reason: 'run.outputs',
    failure: 'tool',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'a toolpack that links before it executes',
    conduct: async (attempt) => {
      await attempt.link('stats');
      return conducts(attempt);
    },
    reason: 'run.outputs',
    failure: 'tool',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'a toolpack that hides the failure of its program',
    script: ends('tool.exit', 3),
    conduct: async (attempt) => {
      await attempt.execute().catch(() => {});
      return {};
    },
    reason: 'run.failed',
    failure: 'tool',
    state: 'failed',
    attempts: 1,
  },
  {
    what: 'an output that is not there',
    script: async () => succeeded,
    reason: 'run.outputs',
    failure: 'tool',
    state: 'failed',
    attempts: 1,
  },
];

describe('runs.execute tells apart', () => {
  for (const { what, script = writes(), conduct = conducts, reason, failure, state, attempts } of FAILING) {
    it(`${what}: ${reason}, ${attempts === 1 ? 'not tried again' : 'tried again by itself'}`, () =>
      withRuns(async ({ runs, backend, folderOf }) => {
        backend.script = script;
        const { runId } = ticket(1);
        await assert.rejects(runs.execute(request({ conduct }), never()), (thrown) => {
          assert.ok(isFailure(thrown));
          assert.equal(thrown.reason, reason, thrown.message);
          assert.equal(thrown.details?.run_id, runId);
          assert.equal(thrown.details?.failure, failure);
          return true;
        });
        const kept = await runs.attempts(runId);
        assert.equal(kept.length, attempts);
        for (const one of kept) {
          assert.deepEqual([one.state, one.failure], [state, failure]);
          assert.equal(folderOf(one.id), false);
        }
        assert.equal((await runs.get(runId)).result, null);
      }));
  }

  it('what the machine did to one attempt: the next one succeeds', () =>
    withRuns(async ({ runs, backend }) => {
      backend.script = (attempt, nth, cancelled) =>
        nth < 3 ? ends('infrastructure.node')(attempt, nth, cancelled) : writes()(attempt, nth, cancelled);
      await runs.execute(request(), never());
      assert.deepEqual(
        (await runs.attempts(ticket(1).runId)).map(({ state }) => state),
        ['failed', 'failed', 'succeeded'],
      );
    }));
});

describe('cancelling', () => {
  it('ends an attempt when nobody waits for it any more, and not before', () =>
    withRuns(async ({ runs, backend, folderOf }) => {
      backend.script = waits;
      const [first, second] = [new AbortController(), new AbortController()];
      const calls = [first, second].map(({ signal }) => runs.execute(request(), signal));
      for (const call of calls) call.catch(() => {});
      await eventually(() => backend.began.length === 1, 'the beginning of the attempt');
      const reason = fail('time.cancelled', 'no longer');
      first.abort(reason);
      await assert.rejects(calls[0] as Promise<unknown>, (thrown) => thrown === reason);
      assert.deepEqual(backend.cancelled, []);
      second.abort(reason);
      await assert.rejects(calls[1] as Promise<unknown>, (thrown) => thrown === reason);
      await untilState(runs, 'cancelled');
      assert.deepEqual(backend.cancelled, backend.began);
      await eventually(() => !folderOf(backend.began[0] as string), 'the end of its folder');
    }));

  it('by whoever asks the store ends what another process conducts', () =>
    withRuns(async ({ runs, backend, another }) => {
      backend.script = waits;
      const call = runs.execute(request(), never());
      call.catch(() => {});
      await eventually(() => backend.began.length === 1, 'the beginning of the attempt');
      const { runId } = ticket(1);
      const [asked] = await (await another()).runs.cancel(runId);
      assert.equal(asked?.id, backend.began[0]);
      await assert.rejects(call, { reason: 'run.cancelled' });
      assert.equal((await runs.get(runId)).state, 'cancelled');
    }));

  it('by one process is no answer for another that waits: it executes the run itself', () =>
    withRuns(async ({ runs, backend, another }) => {
      backend.script = (attempt, nth, cancelled) => (nth === 1 ? waits : writes())(attempt, nth, cancelled);
      const control = new AbortController();
      const first = runs.execute(request(), control.signal);
      first.catch(() => {});
      await eventually(() => backend.began.length === 1, 'the beginning of the attempt');
      const second = (await another()).runs.execute(request(), never());
      control.abort(fail('time.cancelled', 'no longer'));
      assert.deepEqual((await second).data.result, { fine: true });
      assert.equal(backend.began.length, 2);
    }));
});

describe('an attempt of a process that died', () => {
  it('goes on under its own id with whoever asks for the run, and is executed once', () =>
    withRuns(async ({ runs, store, backend, another, deadProcess }) => {
      const dead = await another(deadProcess);
      const { plan, runId, preimage } = ticket(1);
      const { attempt } = await dead.store.runs.begin(
        { runId, tool: 'text_stats', contract: 'v1', preimage, args: {}, plan },
        { id: 'att_dead', purpose: 'run', backend: 'scripted', callId: 'call_0' },
        1,
      );
      await dead.store.runs.checkpoint(attempt.id, { job: 7 });
      const { folders } = await dead.site.parts();
      const folder = await folders.prepare(attempt.id, plan);
      await backend.start({ id: attempt.id, runId, plan, folder });
      await dead.store.runs.move(attempt.id, 'running', 2);
      let checkpointed: unknown;
      const conduct: RunRequest['conduct'] = (one) => {
        checkpointed = one.checkpointed;
        return conducts(one);
      };
      const outcome = await runs.execute(request({ conduct }), never());
      assert.equal(outcome.attemptId, attempt.id);
      assert.deepEqual(checkpointed, { job: 7 });
      assert.deepEqual(backend.began, [attempt.id]);
      assert.equal((await store.runs.attempt(attempt.id))?.state, 'succeeded');
    }));

  it('that never got to its backend is started then', () =>
    withRuns(async ({ runs, backend, another, deadProcess }) => {
      const dead = await another(deadProcess);
      const { plan, runId, preimage } = ticket(1);
      await dead.store.runs.begin(
        { runId, tool: 'text_stats', contract: 'v1', preimage, args: {}, plan },
        { id: 'att_dead', purpose: 'run', backend: 'scripted', callId: 'call_0' },
        1,
      );
      const outcomes = await Promise.all(
        [runs, (await another()).runs].map((one) => one.execute(request(), never())),
      );
      assert.deepEqual(backend.began, ['att_dead']);
      assert.deepEqual(outcomes[0]?.data, outcomes[1]?.data);
    }));
});

const untilState = (runs: { get(id: string): Promise<{ readonly state: string }> }, state: string) =>
  eventually(async () => (await runs.get(ticket(1).runId)).state === state, `the state ${state}`);
