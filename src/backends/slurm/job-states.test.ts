import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStuck, jobState } from './job-states.ts';

/** All of squeue's manual, of Slurm 22 to 24. */
const PHASES = {
  queued: 'PENDING REQUEUED REQUEUE_FED REQUEUE_HOLD RESV_DEL_HOLD SPECIAL_EXIT',
  running:
    'CONFIGURING COMPLETING RUNNING RESIZING SIGNALING STAGE_OUT STOPPED SUSPENDED POWER_UP_NODE UPDATE_DB EXPEDITING',
  ended:
    'BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED LAUNCH_FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED RECONFIG_FAIL REVOKED TIMEOUT',
  unknown: 'PONDERING',
};

describe('jobState', () => {
  for (const [phase, states] of Object.entries(PHASES)) {
    for (const state of states.split(' '))
      it(`takes ${state} for ${phase}`, () => assert.equal(jobState(state).phase, phase));
  }
  it('reads what sacct adds', () => {
    assert.equal(jobState('CANCELLED by 1000').end?.cause, 'cancelled');
    assert.equal(jobState('CANCELLED+').end?.cause, 'cancelled');
  });
  it('has a cause for every end, and never a success', () => {
    for (const state of PHASES.ended.split(' ')) assert.ok(jobState(state).end?.cause, state);
  });
});

describe('isStuck', () => {
  it('knows reasons that waiting does not help', () => {
    for (const reason of ['BadConstraints', 'PartitionTimeLimit', 'QOSMaxMemoryPerJob', 'JobHeldAdmin'])
      assert.ok(isStuck(reason), reason);
  });
  it('leaves those alone that pass', () => {
    for (const reason of ['Priority', 'Resources', 'None', 'Licenses', 'QOSMaxJobsPerUserLimit', 'BeginTime'])
      assert.ok(!isStuck(reason), reason);
  });
});
