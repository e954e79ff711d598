// Owns: submission under fire: the submitting process is killed at random instants around sbatch, on a real cluster.
// Refuses: to be lucky: every attempt of every round is looked at.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../scripts/engines/private-daemon.ts';
import type { SlurmCluster } from '../../scripts/engines/slurm.ts';
import { withSlurm } from '../../scripts/engines/with-slurm.ts';
import { jobPrefix } from '../../src/backends/slurm/slurm-backend.ts';
import type { Attempt, AttemptEnd } from '../../src/contract/backend.ts';
import { makeAttempt } from '../../src/testing/backend-suite.ts';
import { amount } from './support/amount.ts';
import type { SubmitterTask } from './support/slurm-submitter.ts';

const slurm = withSlurm();
const KILLS = amount('HAFT_SLURM_KILLS', 200, 12);
/** So that no part takes longer than a test may. */
const PARTS = Math.ceil(KILLS / 40);
const LIVES = 6;
/** What each life has to submit beside what those before it left. */
const FRESH = 3;

describe('a process that is killed around sbatch', { skip: slurm.skip }, () => {
  for (let part = 1; part <= PARTS; part++) {
    const kills = Math.ceil(KILLS / PARTS);
    it(`executes no attempt twice, loses none and ends each once, ${kills} kills (${part} of ${PARTS})`, async (test) => {
      const cluster = await slurm.engine();
      const seen: Seen = { kills: 0, attempts: 0, jobs: 0, underFire: 0 };
      for (let n = 0; seen.kills < kills; n++) await round(cluster, n % 2 === 1, seen);
      test.diagnostic(
        `${seen.kills} kills, ${seen.attempts} attempts, ${seen.jobs} jobs, ${seen.underFire} there before the process that was let live`,
      );
      assert.ok(
        seen.underFire > 0,
        'nothing was submitted by a process that was killed: the test proves nothing',
      );
    });
  }
});

interface Seen {
  kills: number;
  attempts: number;
  jobs: number;
  underFire: number;
}

/** Processes that are killed one after the other, each with attempts of its own, and one that may live. */
async function round({ env, command }: SlurmCluster, slow: boolean, seen: Seen): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'haft-under-fire-'));
  const jobs = () =>
    command('squeue', '--noheader', '--states=all', '--format=%j|%T')
      .split('\n')
      .filter((row) => row.startsWith(jobPrefix(root)));
  const groups: number[] = [];
  try {
    const attempts: Attempt[] = [];
    const own = slow ? { ...env, PATH: `${slowCommands(root)}:${env.PATH}` } : env;
    const live = async () => {
      const task = join(root, `task-${groups.length}.json`);
      writeFileSync(task, JSON.stringify({ env: own, root, attempts } satisfies SubmitterTask));
      const submitter = await startSubmitter(task);
      groups.push(submitter.child.pid!);
      return submitter;
    };
    for (let n = 0; n < LIVES; n++, seen.kills++) {
      for (let fresh = 0; fresh < FRESH; fresh++) {
        const script = `echo began >> out/count; sleep 0.${fresh}`;
        attempts.push(await makeAttempt({ root }, script, { outputs: ['count'] }));
      }
      const { child } = await live();
      await sleep(Math.random() * 250);
      await killHard(child, Math.random() < 0.5);
    }
    seen.underFire += new Set(jobs().map((row) => row.split('|')[0])).size;
    const { child, ends } = await live();
    await new Promise((done) => child.once('close', done));
    // Commands that outlived their process may still bring jobs, and those must not do anything.
    await until(() => !groups.some(isGroup), 30_000);
    const idle = () => jobs().every((row) => !/PENDING|CONFIGURING|RUNNING|COMPLETING/.test(row));
    assert.ok(await until(idle, 60_000), `jobs are left: ${jobs()}`);
    for (const attempt of attempts) check(attempt, await ends);
    seen.attempts += attempts.length;
    seen.jobs += jobs().length;
  } finally {
    rmSync(root, { recursive: true, maxRetries: 5 });
  }
}

/** A sbatch that takes its time, and submits long after whoever asked it to was killed. */
function slowCommands(root: string): string {
  const folder = join(root, 'slow');
  mkdirSync(folder, { recursive: true });
  const script = '#!/bin/sh\nsleep "$(shuf -n 1 -e 0 0.1 0.5 2 4)"\nexec /usr/bin/sbatch "$@"\n';
  writeFileSync(join(folder, 'sbatch'), script, { mode: 0o755 });
  return folder;
}

function isGroup(pgid: number): boolean {
  try {
    return process.kill(-pgid, 0);
  } catch {
    return false;
  }
}

function check({ id, folder }: Attempt, ends: ReadonlyMap<string, AttemptEnd>): void {
  const end = ends.get(id);
  assert.equal(end?.status, 'succeeded', `${id} ended with ${JSON.stringify(end)}`);
  assert.equal(readFileSync(join(folder, 'out/count'), 'utf8'), 'began\n', `${id} did not execute once`);
  assert.ok(existsSync(join(folder, 'meta/result.json')));
  assert.deepEqual(JSON.parse(readFileSync(join(folder, 'meta/end.json'), 'utf8')), end);
}

async function startSubmitter(
  task: string,
): Promise<{ readonly child: ChildProcess; readonly ends: Promise<ReadonlyMap<string, AttemptEnd>> }> {
  const program = join(import.meta.dirname, 'support/slurm-submitter.ts');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, task], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const found = new Map<string, AttemptEnd>();
  const ready = Promise.withResolvers<void>();
  const ends = new Promise<ReadonlyMap<string, AttemptEnd>>((done) => {
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      if (line === 'go') return ready.resolve();
      const { id, end } = JSON.parse(line) as { id: string; end: AttemptEnd };
      found.set(id, end);
    });
    lines.once('close', () => {
      ready.resolve();
      done(found);
    });
  });
  await ready.promise;
  return { child, ends };
}

/** With or without the commands that it had started: those that are not killed go on without it. */
async function killHard(child: ChildProcess, withCommands: boolean): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = new Promise((done) => child.once('exit', done));
  process.kill(withCommands ? -child.pid! : child.pid!, 'SIGKILL');
  await gone;
}
