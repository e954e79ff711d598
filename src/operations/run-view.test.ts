import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RunQuery, RunRow } from '../contract/run-store.ts';
import { findRun, shortRun } from './run-view.ts';

const IDS = ['0a1', '0a2', '0b', 'c'].map((start) => `run_${start.padEnd(64, '0')}`);
const runs = {
  list: async ({ prefix = '', limit = 100 }: RunQuery = {}) =>
    IDS.filter((id) => id.startsWith(prefix))
      .map((runId) => ({ runId, tool: 'text_stats' }) as RunRow)
      .slice(0, limit),
};

describe('findRun', () => {
  it('takes a whole id without looking, and as much of one as is no other run’s', async () => {
    const unseen = `run_${'f'.repeat(64)}`;
    assert.equal(await findRun(runs, unseen), unseen);
    for (const given of ['run_0a1', '0a1', 'run_c', 'c']) assert.ok(IDS.includes(await findRun(runs, given)));
  });

  it('names those that fit, where there are several', async () => {
    await assert.rejects(findRun(runs, '0a'), (thrown: Error & { reason: string }) => {
      assert.equal(thrown.reason, 'usage');
      assert.ok(thrown.message.includes(shortRun(IDS[0]!)) && thrown.message.includes(shortRun(IDS[1]!)));
      assert.ok(!thrown.message.includes(shortRun(IDS[2]!)));
      return true;
    });
    await assert.rejects(findRun(runs, '0'), /0a1.*0a2.*0b.*begin so/);
  });

  it('refuses what begins no id, and what could be none', async () => {
    for (const given of ['d', 'run_d', 'run_', '', 'RUN_0A1', '../x', '0a1\n'])
      await assert.rejects(findRun(runs, given), { reason: 'run.unknown' }, given);
  });
});
