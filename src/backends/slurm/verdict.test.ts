import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import { failedEnd } from '../../contract/backend.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import { attemptFiles } from './attempt-files.ts';
import type { JobResult } from './job-script.ts';
import type { JobRow } from './slurm-client.ts';
import { type Facts, nextStep, type Step, verdictOf } from './verdict.ts';

/** Of `a` and a line feed. */
const SHA = '87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7';
const HASH_BANG = sha256Hex('#!');
const GOOD: JobResult = {
  job: '7',
  restart: 0,
  node: 'n',
  ended: 'exit',
  code: 0,
  started: true,
  oom: false,
  full: false,
  outputs: [{ src: 'a', bytes: 2, sha256: SHA }],
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'haft-verdict-'));
});
afterEach(() => rmSync(root, { recursive: true }));

async function judge(content: string, given: Partial<JobResult> = {}) {
  const attempt = await makeAttempt({ root }, '', { outputs: ['a'] });
  writeFileSync(join(attempt.folder, 'out/a'), content);
  return verdictOf(attempt, attemptFiles(attempt.folder), { ...GOOD, ...given }, [1]);
}

const CAUSES: Readonly<Record<string, readonly [content: string, given: Partial<JobResult>, cause: string]>> =
  {
    'outputs that are not what was hashed': ['b\n', {}, 'infrastructure.outputs'],
    'outputs that are longer than what was hashed': ['a\nb', {}, 'infrastructure.outputs'],
    'outputs that nobody hashed': ['a\n', { outputs: [] }, 'infrastructure.outputs'],
    'a child that ran out of memory': ['a\n', { oom: true }, 'limit.memory'],
    'a full disk': ['a\n', { code: 1, full: true }, 'infrastructure.disk_full'],
    'an exit code': ['a\n', { code: 1 }, 'tool.exit'],
    'a signal': ['a\n', { code: 139 }, 'tool.signal'],
    'a program that is not there': ['a\n', { code: 1, started: false }, 'tool.not_started'],
    'a node that cannot do it': ['a\n', { ended: 'setup', code: -1 }, 'infrastructure.engine'],
    'a sandbox that is not one': ['a\n', { ended: 'containment', code: -1 }, 'infrastructure.containment'],
  };

describe('verdictOf', () => {
  it('calls a result with matching outputs a success', async () => {
    const end = await judge('a\n');
    assert.deepEqual([end.status, end.cause, end.exitCode], ['succeeded', undefined, 0]);
  });
  it('takes a folder for what was hashed only as long as all of it is', async () => {
    const attempt = await makeAttempt({ root }, '', { outputs: ['d/'] });
    const change = (script: string) =>
      execFileSync('sh', ['-c', script], { cwd: join(attempt.folder, 'out') });
    change("mkdir -p d/e; echo a > d/f; printf '#!' > d/e/g; chmod 700 d/e/g");
    const records = [`${SHA}  ./f`, `${HASH_BANG}  ./e/g`, 'folder e', 'runs e/g'].sort();
    const outputs = [{ src: 'd/', bytes: 4, sha256: sha256Hex(records.map((one) => `${one}\0`).join('')) }];
    const look = () => verdictOf(attempt, attemptFiles(attempt.folder), { ...GOOD, outputs }, [1]);
    assert.equal((await look()).status, 'succeeded');
    const changes = [
      'chmod 600 d/e/g',
      'chmod 700 d/e/g d/f',
      'chmod 600 d/f; mkdir d/h',
      'rmdir d/h; echo b > d/f',
    ];
    for (const script of changes) {
      change(script);
      const end = await look();
      assert.deepEqual(
        [end.cause, end.message.includes('"out/d/"')],
        ['infrastructure.outputs', true],
        script,
      );
    }
    change('echo a > d/f');
    assert.equal((await look()).status, 'succeeded');
  });
  for (const [what, [content, given, cause]] of Object.entries(CAUSES)) {
    it(`does not take ${what} for one`, async () => {
      const end = await judge(content, given);
      assert.deepEqual([end.status, end.cause], ['failed', cause], end.message);
    });
  }
});

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
