import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusalOf } from './refusals.ts';

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
