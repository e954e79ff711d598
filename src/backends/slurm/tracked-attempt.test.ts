import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { until } from '../../../scripts/engines/private-daemon.ts';
import type { Attempt } from '../../contract/backend.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import { writeOnce } from '../write-once.ts';
import { attemptFiles, type Claim } from './attempt-files.ts';
import type { Watched } from './job-watch.ts';
import type { JobRow, Submission } from './slurm-client.ts';
import { trackAttempt } from './tracked-attempt.ts';

const never = () => new AbortController().signal;
const SETTLE_MS = 20;
const JOB: JobRow = { id: '7', name: 'haft-x', state: 'RUNNING', reason: 'None' };
const CLAIM: Claim = { by: 'job', job: '7', restart: 0, node: 'n' };

let root: string;
let attempt: Attempt;
let submissions: PromiseWithResolvers<Submission>[];
let cancels: number;
let watched: Watched | undefined;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'haft-tracked-'));
  mkdirSync(join(root, 'bell'));
  attempt = await makeAttempt({ root }, '');
  [submissions, cancels, watched] = [[], 0, undefined];
});
afterEach(() => rmSync(root, { recursive: true }));

const track = () =>
  trackAttempt(attempt, {
    name: 'haft-x',
    bell: join(root, 'bell'),
    settleMs: SETTLE_MS,
    client: {
      async cancel() {
        cancels++;
      },
    },
    watch: {
      add(one) {
        watched = one;
        return () => {};
      },
      hurry() {},
    },
    submit() {
      const submission = Promise.withResolvers<Submission>();
      submissions.push(submission);
      return submission.promise;
    },
    onEnd() {},
  });

const eventually = async (condition: () => boolean) => assert.ok(await until(condition, 5_000));
const files = () => attemptFiles(attempt.folder);

describe('trackAttempt', () => {
  it('does not take what Slurm showed before a job began for the end of that job', async () => {
    await writeOnce(files().intent, {});
    const one = track();
    await one.begin();
    const waiting = one.handle.wait(never());
    await eventually(() => watched !== undefined);
    // Nobody ever asked for it, so it is submitted; sbatch takes its time, and Slurm is asked many times meanwhile.
    const before = performance.now() - 2_000;
    watched!.shown([], before);
    await eventually(() => submissions.length === 1);
    for (let n = 1; n <= 20; n++) watched!.shown([], before + n * SETTLE_MS);
    await writeOnce(files().claim, CLAIM);
    submissions[0]!.resolve({ kind: 'submitted', id: '7' });
    watched!.rung();
    await until(() => existsSync(files().end), 10 * SETTLE_MS);
    assert.equal(existsSync(files().end), false);
    // It is over only once Slurm, asked after that, does not know it for long.
    const asked = performance.now();
    watched!.shown([JOB], asked);
    watched!.shown([], asked + 1);
    watched!.shown([], asked + 1 + 10 * SETTLE_MS);
    assert.equal((await waiting).cause, 'lost');
    assert.equal(submissions.length, 1);
  });

  it('submits once when its intent is new, and not at all when an earlier process had it', async () => {
    const first = track();
    const begun = first.begin();
    await eventually(() => submissions.length === 1);
    submissions[0]!.resolve({ kind: 'submitted', id: '7' });
    await begun;
    await first.begin();
    await track().begin();
    assert.equal(submissions.length, 1);
    assert.ok(existsSync(files().intent));
  });

  it('is over when sbatch refuses for good, and no job can claim it any more', async () => {
    const one = track();
    const begun = one.begin();
    await eventually(() => submissions.length === 1);
    submissions[0]!.resolve({ kind: 'refused', cause: 'limit.resources', words: 'too much' });
    await begun;
    const end = await one.handle.wait(never());
    assert.deepEqual(
      [end.cause, end.message],
      ['limit.resources', 'Cannot submit the attempt: Slurm says "too much"'],
    );
    assert.equal(await writeOnce(files().claim, CLAIM), false);
  });

  it('tells Slurm to cancel what an earlier process wanted cancelled', async () => {
    await writeOnce(files().intent, {});
    await writeOnce(files().cancel, {});
    await writeOnce(files().claim, CLAIM);
    const one = track();
    await one.begin();
    void one.handle.wait(never());
    await eventually(() => watched !== undefined);
    watched!.shown([JOB], performance.now() + 1000);
    await eventually(() => cancels === 1);
    watched!.shown([{ ...JOB, state: 'CANCELLED' }], performance.now() + 2000);
    watched!.shown([{ ...JOB, state: 'CANCELLED' }], performance.now() + 3000);
    assert.equal((await one.handle.wait(never())).cause, 'cancelled');
    assert.equal(cancels, 1);
  });
});
