import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failedEnd } from '../../contract/backend.ts';
import type { CallRequest, CallResponse } from '../../contract/envelope.ts';
import { isFailure, toErrorEntry } from '../../contract/errors.ts';
import type { CallOptions } from '../../contract/runtime.ts';
import {
  conducts,
  type Engine,
  never,
  type RunsFixture,
  request,
  ticket,
  waits,
  withRuns,
  writes,
} from './runs-for-tests.ts';

/** A pipeline that knows one tool: its run is its argument. */
function withCalls(use: (fixture: RunsFixture) => Promise<void>): Promise<void> {
  let engine: Engine | undefined;
  const call = async ({ tool, args = {} }: CallRequest, options: CallOptions = {}): Promise<CallResponse> => {
    const n = args.n as number;
    const asked = request({
      n,
      ticket: ticket(n, { purpose: options.verify ? 'verify' : 'run', resume: options.resume ?? false }),
      callId: 'call_again',
    });
    const response = {
      tool,
      requestId: 'req',
      callId: 'call_again',
      runId: asked.ticket.runId,
      durationMs: 0,
    };
    try {
      const signal = (options.signal as AbortSignal | undefined) ?? never();
      const { data } = await (engine as Engine).runs.execute(asked, signal);
      return { ...response, ok: true, data, errors: [] };
    } catch (thrown) {
      if (!isFailure(thrown)) throw thrown;
      return { ...response, ok: false, data: null, errors: [toErrorEntry(thrown)] };
    }
  };
  return withRuns(async (fixture) => {
    engine = fixture;
    await use(fixture);
  }, call);
}

const { runId } = ticket(1);

describe('runs', () => {
  it('of an unknown id are refused by every question', () =>
    withCalls(async ({ runs }) => {
      const questions = [
        runs.get('run_0'),
        runs.attempts('run_0'),
        runs.explain('run_0'),
        runs.retry('run_0'),
        runs.cancel('run_0'),
        runs.watch('run_0', () => {}, never()),
        runs.verify('run_0'),
      ];
      for (const question of questions) await assert.rejects(question, { reason: 'run.unknown' });
    }));

  it('retry makes the same call again: a failure is tried, a success answers by its result', () =>
    withCalls(async ({ runs, backend }) => {
      backend.script = (attempt, nth, cancelled) =>
        nth === 1
          ? Promise.resolve({ status: 'failed', failure: 'tool', exitCode: 1, message: 'no' })
          : writes()(attempt, nth, cancelled);
      await assert.rejects(runs.execute(request(), never()));
      assert.equal((await runs.retry(runId)).state, 'succeeded');
      assert.equal(backend.began.length, 2);
    }));

  it('retry of what fails again rejects with that failure', () =>
    withCalls(async ({ runs, backend }) => {
      backend.script = async () => ({
        status: 'failed',
        failure: 'tool',
        cause: 'tool.exit',
        exitCode: 1,
        message: 'no',
      });
      await assert.rejects(runs.execute(request(), never()));
      await assert.rejects(runs.retry(runId), { reason: 'run.failed' });
    }));

  it('verify says identical where the outputs are, and leaves the result as it was', () =>
    withCalls(async ({ runs }) => {
      await runs.execute(request(), never());
      const before = await runs.get(runId);
      const verification = await runs.verify(runId);
      assert.equal(verification.identical, true);
      assert.deepEqual(
        verification.outputs.map(({ role, same }) => [role, same]),
        [['stats', true]],
      );
      assert.deepEqual(await runs.get(runId), before);
    }));

  it('verify names the output that differs', () =>
    withCalls(async ({ runs, backend }) => {
      backend.script = (attempt, nth, cancelled) => writes(`made ${nth}`)(attempt, nth, cancelled);
      await runs.execute(request(), never());
      const { identical, outputs } = await runs.verify(runId);
      assert.equal(identical, false);
      assert.equal(outputs[0]?.same, false);
      assert.notEqual(outputs[0]?.recorded, outputs[0]?.seen);
    }));

  it('verify refuses a run that has not succeeded', () =>
    withCalls(async ({ runs, backend }) => {
      backend.script = async () => ({ status: 'failed', failure: 'tool', exitCode: 1, message: 'no' });
      await assert.rejects(runs.execute(request(), never()));
      await assert.rejects(runs.verify(runId), { reason: 'run.state' });
    }));

  it('explain compares with the newest other run of the tool unless it is told which', () =>
    withCalls(async ({ runs }) => {
      await runs.execute(request(), never());
      assert.deepEqual(await runs.explain(runId), { a: runId, b: null, differences: [] });
      for (const n of [2, 3]) await runs.execute(request({ n }), never());
      const { b, differences } = await runs.explain(runId);
      assert.equal(b, ticket(3).runId);
      assert.deepEqual(differences, [{ field: 'argument of the call n', path: '/params/n', a: 1, b: 3 }]);
      assert.equal((await runs.explain(runId, ticket(2).runId)).differences[0]?.b, 2);
    }));

  it('watch follows what runs, and says what a run that has ended had said', () =>
    withCalls(async ({ runs, backend }) => {
      const go = Promise.withResolvers<void>();
      backend.script = async (attempt, nth, cancelled) => {
        await go.promise;
        return writes()(attempt, nth, cancelled);
      };
      const running = runs.execute(request(), never());
      while ((await runs.list({ state: 'running' })).length === 0) await new Promise(setImmediate);
      const said: string[] = [];
      const watching = runs.watch(
        runId,
        (chunk) => {
          said.push(Buffer.from(chunk).toString());
          go.resolve();
        },
        never(),
      );
      assert.equal((await watching).state, 'succeeded');
      assert.deepEqual(said, ['said\n']);
      await running;
      let log = '';
      await runs.watch(runId, (chunk) => (log += Buffer.from(chunk).toString()), never());
      assert.equal(log, 'said\n');
    }));
});

describe('runs.recover', () => {
  /** An attempt as a process leaves it that dies; `begun` where its backend had it by then. */
  const abandon = async (
    { another, deadProcess, backend }: RunsFixture,
    id: string,
    n: number,
    begun: boolean,
    purpose: 'run' | 'verify' = 'run',
  ) => {
    const dead = await another(deadProcess);
    const { plan, runId: run, preimage } = ticket(n);
    const opened = {
      runId: run,
      tool: 'text_stats',
      contract: 'v1',
      preimage,
      args: { n },
      plan,
      seenResult: null,
    };
    await dead.store.runs.begin(opened, { id, purpose, backend: 'scripted', callId: 'call_0' }, 1);
    if (!begun) return;
    const { folders } = await dead.site.parts();
    await backend.start({ id, runId: run, plan, folder: await folders.prepare(id, plan) });
    await dead.store.runs.move(id, 'running', 2);
  };

  it('removes the folders of attempts that ended, which a process left that died just then, and no others', () =>
    withCalls(async (fixture) => {
      const { runs, backend, another, deadProcess } = fixture;
      const { folders } = await (await another(deadProcess)).site.parts();
      await abandon(fixture, 'att_ended', 1, true);
      backend.script = waits;
      await abandon(fixture, 'att_runs', 2, true);
      await runs.recover();
      for (const id of ['att_ended', 'att_stranger']) await folders.prepare(id, ticket(1).plan);
      await runs.recover();
      assert.deepEqual([...(await folders.list())].sort(), ['att_runs', 'att_stranger']);
    }));

  it('finishes what has ended, marks what never began as lost, and leaves what runs', () =>
    withCalls(async (fixture) => {
      const { runs, backend } = fixture;
      await abandon(fixture, 'att_ended', 1, true);
      await abandon(fixture, 'att_never', 2, false);
      backend.script = waits;
      await abandon(fixture, 'att_runs', 3, true);
      const found = await runs.recover();
      assert.deepEqual(
        found.map(({ attemptId, became }) => [attemptId, became]),
        [
          ['att_ended', 'finished'],
          ['att_never', 'lost'],
          ['att_runs', 'left'],
        ],
      );
      assert.deepEqual(backend.began, ['att_ended', 'att_runs']);
      assert.equal((await runs.get(ticket(1).runId)).state, 'succeeded');
      assert.equal((await runs.get(ticket(2).runId)).state, 'failed');
      assert.equal((await runs.get(ticket(3).runId)).state, 'running');
      assert.deepEqual(
        (await runs.recover()).map(({ attemptId }) => attemptId),
        ['att_runs'],
      );
    }));

  it('begins no attempt for one that was lost, whether or not it is followed', () =>
    withCalls(async (fixture) => {
      const { runs, backend } = fixture;
      backend.script = async () => failedEnd('lost', 'gone');
      await abandon(fixture, 'att_lost', 1, true);
      const [found] = await runs.recover({ follow: true });
      assert.equal(found?.became, 'lost');
      assert.deepEqual(backend.began, ['att_lost']);
      assert.equal((await runs.attempts(ticket(1).runId)).length, 1);
      backend.script = writes();
      assert.equal((await runs.retry(ticket(1).runId)).state, 'succeeded');
    }));

  it('follows what runs when it is asked to, and lets it go when the host closes', () =>
    withCalls(async (fixture) => {
      const { runs, backend, store } = fixture;
      backend.script = waits;
      await abandon(fixture, 'att_runs', 1, true);
      assert.deepEqual(
        (await runs.recover({ follow: true })).map(({ became }) => became),
        ['followed'],
      );
      while ((await store.runs.abandoned()).length > 0) await new Promise(setImmediate);
      runs.release();
      await runs.close();
      assert.deepEqual(backend.cancelled, []);
      assert.equal((await store.runs.attempt('att_runs'))?.state, 'running');
    }));

  it('leaves what it was about to follow when the host closes at once, and neither loses nor cancels it', () =>
    withCalls(async (fixture) => {
      const { runs, backend, store } = fixture;
      backend.script = waits;
      await abandon(fixture, 'att_runs', 1, true);
      await runs.recover({ follow: true });
      runs.release();
      await runs.close();
      assert.deepEqual(backend.cancelled, []);
      assert.equal((await store.runs.attempt('att_runs'))?.state, 'running');
    }));

  it('looks after one run alone when that is asked for', () =>
    withCalls(async (fixture) => {
      const { runs } = fixture;
      await abandon(fixture, 'att_one', 1, true);
      await abandon(fixture, 'att_two', 2, true);
      const found = await runs.recover({ runId: ticket(2).runId });
      assert.deepEqual(
        found.map(({ attemptId }) => attemptId),
        ['att_two'],
      );
      assert.equal((await runs.get(ticket(1).runId)).state, 'running');
    }));

  it('ends a verification that nobody waits for any more', () =>
    withCalls(async (fixture) => {
      const { runs, backend } = fixture;
      await runs.execute(request({ conduct: conducts }), never());
      backend.script = waits;
      await abandon(fixture, 'att_verify', 1, true, 'verify');
      const [found] = await runs.recover();
      assert.equal(found?.became, 'lost');
      assert.deepEqual(backend.cancelled, ['att_verify']);
      assert.equal((await runs.get(runId)).state, 'succeeded');
    }));

  it('cancels what a dead process left when it is asked to', () =>
    withCalls(async (fixture) => {
      const { runs, backend } = fixture;
      backend.script = waits;
      await abandon(fixture, 'att_runs', 1, true);
      await runs.cancel(runId);
      assert.deepEqual(backend.cancelled, ['att_runs']);
      assert.equal((await runs.get(runId)).state, 'cancelled');
    }));
});

describe('runs.look', () => {
  it('answers the run, its attempts and what the engine says of the one that is under way', () =>
    withRuns(async ({ runs, backend }) => {
      const job = { id: '7', state: 'PENDING', reason: 'Resources', phase: 'queued' } as const;
      const asked: string[] = [];
      backend.look = async ({ id }) => {
        asked.push(id);
        return job;
      };
      backend.script = waits;
      const started = Promise.withResolvers<string>();
      const running = runs.execute(
        request({ ticket: ticket(1, { session: 'sess_1', onStarted: ({ id }) => started.resolve(id) }) }),
        never(),
      );
      const id = await started.promise;
      const look = await runs.look(runId);
      assert.deepEqual([look.run.state, look.attempts.length, look.job], ['running', 1, job]);
      assert.equal(look.attempts[0]?.session, 'sess_1');
      assert.deepEqual(asked, [id]);
      backend.look = () => Promise.reject(new Error('no answer'));
      assert.equal((await runs.look(runId)).job, null);
      await runs.cancel(runId);
      await assert.rejects(running, { reason: 'run.cancelled' });
      const after = await runs.look(runId);
      assert.deepEqual([after.run.state, after.job], ['cancelled', null]);
    }));

  it('tells everybody who joins that the attempt is with its engine', () =>
    withRuns(async ({ runs, backend }) => {
      backend.script = waits;
      const told: string[] = [];
      const both = Promise.withResolvers<void>();
      const join = () =>
        runs.execute(
          request({
            ticket: ticket(1, {
              onStarted({ id }) {
                if (told.push(id) === 2) both.resolve();
              },
            }),
          }),
          never(),
        );
      const running = [join(), join()];
      await both.promise;
      assert.equal(told[0], told[1]);
      await runs.cancel(runId);
      await Promise.allSettled(running);
    }));

  it('refuses a run that is not there', () =>
    withRuns(async ({ runs }) => {
      await assert.rejects(runs.look('run_0'), { reason: 'run.unknown' });
    }));
});
