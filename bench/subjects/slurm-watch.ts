// Owns: what watching a thousand queued Slurm jobs costs, and how soon the end of one among them is noticed.
// Refuses: what Slurm itself takes: the time starts when the job has put its result in place.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SlurmCluster, startSlurm } from '../../scripts/engines/slurm.ts';
import { createSlurmBackend } from '../../src/backends/slurm/slurm-backend.ts';
import { type CommandRunner, createLocalRunner } from '../../src/backends/slurm/slurm-client.ts';
import type { Backend } from '../../src/contract/backend.ts';
import { makeAttempt } from '../../src/testing/backend-suite.ts';
import { type Contender, defineSubject, percentile } from '../measure.ts';

interface State {
  readonly cluster: SlurmCluster;
  readonly backend: Backend;
  readonly root: string;
  /** The programs that were run since it was last emptied. */
  readonly commands: string[];
  /** Where the next job goes: to a partition that starts none, or to one that does. */
  partition: 'closed' | 'main';
  readonly watching: AbortController;
}

const JOBS = 1_000;
const POLLS = 5;
const PER_ROUND = 5;
const never = () => new AbortController().signal;

/** Processor time of a second of watching, that of squeue included. */
const watch: Contender<State> = async ({ commands }) => {
  const [before, started] = [processorMs(), performance.now()];
  commands.length = 0;
  // Several turns, however long one takes on a busy machine.
  while (commands.length <= POLLS) await sleep(50);
  const seconds = (performance.now() - started) / 1000;
  const others = commands.filter((program) => program !== 'squeue');
  assert.deepEqual(others, [], 'one squeue a turn is all that watching needs');
  assert.ok(commands.length <= seconds + 1, `${commands.length} times squeue in ${seconds} s`);
  return { each: (processorMs() - before) / seconds };
};

/** From the job's result being there to the end of the wait, verdict and durable end included. */
const notice: Contender<State> = async (state) => {
  state.partition = 'main';
  const times: number[] = [];
  for (let n = 0; n < PER_ROUND; n++) {
    const attempt = await makeAttempt(state, 'echo done > out/a', { outputs: ['a'] });
    const end = await (await state.backend.start(attempt)).wait(never());
    const noticed = Date.now();
    assert.equal(end.status, 'succeeded', end.message);
    times.push(noticed - statSync(join(attempt.folder, 'meta/result.json')).mtimeMs);
  }
  return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
};

export const slurmWatch = defineSubject<State>({
  name: 'slurm-watch',
  group: 'runs',
  about: `${JOBS} queued jobs of a private Slurm cluster, all waited for by one process: the processor time of a second of that, its squeue included, against one core; and how long after its result the end of a job is known, against a second.`,
  async open() {
    const root = mkdtempSync(join(tmpdir(), 'haft-bench-slurm-'));
    const cluster = await startSlurm(join(root, 'cluster'));
    const commands: string[] = [];
    const local = createLocalRunner({ env: cluster.env });
    const run: CommandRunner = ([program, ...args], stdin) => {
      commands.push(program);
      return local(
        [program, ...(program === 'sbatch' ? [`--partition=${state.partition}`] : []), ...args],
        stdin,
      );
    };
    const backend = await createSlurmBackend({ run, scope: root, folder: join(root, 'slurm') });
    const watching = new AbortController();
    const state: State = { cluster, backend, root, commands, partition: 'closed', watching };
    for (let n = 0; n < JOBS; n += 20) {
      const some = Array.from({ length: 20 }, async () => backend.start(await makeAttempt({ root }, 'true')));
      for (const handle of await Promise.all(some)) void handle.wait(watching.signal).catch(() => {});
    }
    // The first looks are at what was just submitted.
    await sleep(3_000);
    return state;
  },
  async close({ cluster, backend, root, watching }) {
    watching.abort();
    await backend.close();
    await cluster.stop();
    rmSync(root, { recursive: true, maxRetries: 5 });
  },
  comparisons: [
    {
      name: `${JOBS} queued jobs watched for a second`,
      rounds: 5,
      contenders: { 'haft (processor time)': watch, 'one core': async () => ({ each: 1_000 }) },
      goals: [{ figure: 'each', ratio: '<=', value: 0.05, of: 'one core' }],
    },
    {
      name: 'the end of a job among them, after its result',
      rounds: 5,
      contenders: { 'haft (noticed)': notice, 'one second': async () => ({ p50: 1_000, p95: 1_000 }) },
      goals: [{ figure: 'p50', ratio: '<=', value: 1.0, of: 'one second' }],
      also: [{ figure: 'p95', of: 'one second' }],
    },
  ],
});

/** Of this process and of the commands that it has run to their end, in ticks of 10 ms. */
function processorMs(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number);
  return (user + system + childUser + childSystem) * 10;
}
