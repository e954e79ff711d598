import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failedEnd } from '../../contract/backend.ts';
import type { JobResult } from './job-script.ts';
import { type Facts, nextStep, type Step } from './next-step.ts';
import type { JobRow } from './slurm-client.ts';

const row = (state: string, id = '7'): JobRow => ({ id, name: 'haft-x', state, reason: 'None' });
const told: JobResult = {
  job: '7',
  restart: 0,
  node: 'n',
  ended: 'told',
  code: -1,
  started: false,
  oom: false,
  full: false,
  outputs: [],
};
const claim = { by: 'job', job: '7', restart: 0, node: 'n' } as const;
const facts: Facts = {
  rows: [],
  claim: undefined,
  result: undefined,
  cancelAsked: false,
  sinceAskedMs: 100,
  quietMs: 0,
  settleMs: 1000,
};

const CASES: Readonly<Record<string, readonly [Partial<Facts>, string]>> = {
  'waits for an answer of sbatch': [{ sinceAskedMs: 999 }, 'wait'],
  'submits what Slurm does not have after that': [{ sinceAskedMs: 1000, quietMs: 1000 }, 'submit'],
  'submits what nobody ever asked for': [{ sinceAskedMs: Number.POSITIVE_INFINITY }, 'submit'],
  'waits while a job waits': [{ rows: [row('PENDING')] }, 'wait'],
  'waits for a state that it does not know': [{ rows: [row('PONDERING')], quietMs: 99_999 }, 'wait'],
  'waits for the claim of a job that is over': [{ rows: [row('CANCELLED')] }, 'wait'],
  'takes the claim of a job that is over for itself': [
    { rows: [row('CANCELLED')], quietMs: 1000 },
    'seal cancelled',
  ],
  'waits while one of two jobs may still claim': [
    { rows: [row('FAILED'), row('PENDING', '8')], quietMs: 1000 },
    'wait',
  ],
  'does not submit what was claimed': [{ claim, sinceAskedMs: 1e9, quietMs: 1000 }, 'wait'],
  'gives up on a claimed job that Slurm has forgotten': [{ claim, quietMs: 5000 }, 'end lost'],
  'waits while the claimed job runs': [{ claim, rows: [row('RUNNING')] }, 'wait'],
  'waits for the claimed job to be gone from its node': [{ claim, rows: [row('COMPLETING')] }, 'wait'],
  'ends a claimed job that is back in the queue': [
    { claim, rows: [row('PENDING')] },
    'end infrastructure.requeued leftover',
  ],
  'does so in every state of waiting': [
    { claim, rows: [row('REQUEUE_HOLD')] },
    'end infrastructure.requeued leftover',
  ],
  'ends a job that was told to and is back in the queue': [
    { claim, result: told, rows: [row('PENDING')] },
    'end infrastructure.requeued leftover',
  ],
  'waits for the result of a job that is over': [{ claim, rows: [row('NODE_FAIL')] }, 'wait'],
  'ends a job that is over and left none': [
    { claim, rows: [row('NODE_FAIL')], quietMs: 1000 },
    'end infrastructure.node',
  ],
  'never calls a job without a result a success': [
    { claim, rows: [row('COMPLETED')], quietMs: 1000 },
    'end lost',
  ],
  'looks at the job that has the claim, not at another': [
    { claim, rows: [row('RUNNING'), row('CANCELLED', '8')], quietMs: 1000 },
    'wait',
  ],
  'ends others when the one with the claim is over': [
    { claim, rows: [row('TIMEOUT'), row('PENDING', '8')], quietMs: 1000 },
    'end limit.time leftover',
  ],
  'takes the state of a job that was told to end': [
    { claim, result: told, rows: [row('PREEMPTED')] },
    'end infrastructure.preempted',
  ],
  'waits for that state': [{ claim, result: told, rows: [row('COMPLETING')] }, 'wait'],
  'does not take its own exit code for the cause': [
    { claim, result: told, rows: [row('FAILED')] },
    'end infrastructure.killed',
  ],
  'says so when Slurm has forgotten who told it': [
    { claim, result: told, quietMs: 5000 },
    'end infrastructure.killed',
  ],
  'ends what its caller cancelled as soon as the job says so': [
    { claim, result: told, cancelAsked: true, rows: [row('RUNNING')] },
    'end cancelled',
  ],
  'repeats the end with which the claim was taken': [
    {
      claim: { by: 'nobody', end: failedEnd('limit.resources', 'no') },
      rows: [row('PENDING')],
    },
    'end limit.resources leftover',
  ],
};

const describeStep = (step: Step) =>
  [
    step.do,
    'end' in step ? step.end.cause : undefined,
    'leftover' in step && step.leftover ? 'leftover' : undefined,
  ]
    .filter((word) => word !== undefined)
    .join(' ');

describe('nextStep', () => {
  for (const [what, [given, expected]] of Object.entries(CASES)) {
    it(what, () => assert.equal(describeStep(nextStep({ ...facts, ...given })), expected));
  }
});
