import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fail } from '../contract/errors.ts';
import { startDeadline } from './limits.ts';

describe('startDeadline', () => {
  it('aborts with time.deadline once the time is over', async () => {
    const deadline = startDeadline('slow', 1, undefined);
    deadline.arm();
    await assert.rejects(deadline.aborted, { reason: 'time.deadline', code: 'E_TIMEOUT' });
    assert.equal(deadline.signal.aborted, true);
    deadline.clear();
  });
  it("aborts with time.cancelled when the caller's signal does", async () => {
    const caller = new AbortController();
    const deadline = startDeadline('slow', 60_000, caller.signal);
    caller.abort();
    await assert.rejects(deadline.aborted, { reason: 'time.cancelled' });
    deadline.clear();
  });
  it('takes a caller at its word who aborts with a failure of the table', async () => {
    const caller = new AbortController();
    const deadline = startDeadline('slow', 60_000, caller.signal);
    const reason = fail('run.cancelled', 'Stopped following the run');
    const aborted = assert.rejects(deadline.aborted, (thrown) => thrown === reason);
    caller.abort(reason);
    await aborted;
    deadline.clear();
  });

  it('is aborted from the start for a caller who already cancelled', () => {
    const deadline = startDeadline('slow', 60_000, AbortSignal.abort());
    assert.equal(deadline.signal.aborted, true);
    deadline.clear();
  });
  it('leaves no timer behind once cleared', () => {
    const deadline = startDeadline('quick', 60_000, undefined);
    deadline.arm();
    deadline.clear();
    assert.deepEqual(
      process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout'),
      [],
    );
  });
});
