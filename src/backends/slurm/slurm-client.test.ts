import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStuck, jobState, refusalOf } from './slurm-client.ts';

const FAILED = 'sbatch: error: Batch job submission failed:';
const POLICY = `${FAILED} Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)`;

/** As sbatch of Slurm 22.05 and its neighbours write them. */
const WORDS: Readonly<Record<string, string>> = {
  [`sbatch: error: QOSMaxSubmitJobPerUserLimit\n${POLICY}`]: 'wait',
  [`sbatch: error: AssocMaxSubmitJobLimit\n${POLICY}`]: 'wait',
  [`sbatch: error: AssocGrpSubmitJobsLimit\n${POLICY}`]: 'wait',
  [`sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n${FAILED} Resource temporarily unavailable`]:
    'wait',
  [`${FAILED} Socket timed out on send/recv operation`]: 'unknown',
  [`${FAILED} Unable to contact slurm controller (connect failure)`]: 'unknown',
  [`${FAILED} Something that nobody has heard of`]: 'unknown',
  '': 'unknown',
  [`sbatch: error: AssocMaxWallDurationPerJobLimit\n${POLICY}`]: 'limit.resources',
  [`sbatch: error: Memory specification can not be satisfied\n${FAILED} Requested node configuration is not available`]:
    'limit.resources',
  [`${FAILED} Requested time limit is invalid (missing or exceeds some limit)`]: 'limit.resources',
  [`sbatch: error: invalid partition specified: nope\n${FAILED} Invalid partition name specified`]:
    'infrastructure.engine',
  [`${FAILED} Invalid account or account/partition combination specified`]: 'infrastructure.engine',
  [`${FAILED} Invalid qos specification`]: 'infrastructure.engine',
  [`${FAILED} Invalid feature specification`]: 'infrastructure.engine',
  [`${FAILED} Requested reservation is invalid`]: 'infrastructure.engine',
  'sbatch: error: Invalid generic resource (gres) specification': 'infrastructure.engine',
  [`${FAILED} User's group not permitted to use this partition`]: 'infrastructure.engine',
};

describe('refusalOf', () => {
  for (const [words, expected] of Object.entries(WORDS)) {
    it(`takes ${JSON.stringify(words.slice(-60))} for ${expected}`, () => {
      const refusal = refusalOf(words);
      assert.equal(refusal.kind === 'refused' ? refusal.cause : refusal.kind, expected);
    });
  }
});

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
