import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { never, request, ticket, waits, withRuns } from './runs-for-tests.ts';

const { runId } = ticket(1);

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
