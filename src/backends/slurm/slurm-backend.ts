// Owns: attempts as Slurm jobs: submitted once, found again by name, executed by whoever holds the claim, believed by their result.
// Refuses: to run anything itself, and to call an attempt a success because Slurm does.
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { canonicalText } from '../../base/canonical-json.ts';
import { digest, sha256Hex } from '../../base/digest.ts';
import type { Attempt, Backend } from '../../contract/backend.ts';
import type { RunResources } from '../../contract/plan.ts';
import { POLICY_DEFAULTS } from '../../contract/policy.ts';
import { MAX_ENTRIES } from '../check-outputs.ts';
import { readJson } from '../write-once.ts';
import { attemptFiles } from './attempt-files.ts';
import { admitImage, type JobContainer } from './containers.ts';
import { jobScript } from './job-script.ts';
import { createJobWatch } from './job-watch.ts';
import type { CommandRunner, SlurmClient, Submission } from './slurm-client.ts';
import { createSlurmClient, jobState } from './slurm-client.ts';
import { type TrackedAttempt, trackAttempt } from './tracked-attempt.ts';

export interface SlurmBackendOptions {
  /** Where sbatch, squeue, sacct and scancel are run. */
  readonly run: CommandRunner;
  /** What tells the jobs of this workspace from all others on the cluster, for as long as it exists. */
  readonly scope: string;
  /** A folder of this backend's own, absolute. The nodes see it, and all attempts, at the same path. */
  readonly folder: string;
  readonly policy?: SlurmPolicy;
  /** Jobs of this workspace in the queue at one time; what comes later waits. By default no limit but Slurm's. */
  readonly maxJobs?: number;
  readonly container?: JobContainer;
  /** What a person should know although no attempt fails from it. */
  readonly alert?: (message: string) => void;
  /** How long an answer of sbatch or a file of a job may be on its way. A slow network file system needs more. */
  readonly settleMs?: number;
  readonly pollMs?: number;
  /** Bytes of standard output and error together. By default 16 MiB. */
  readonly logBytes?: number;
}

const FULL: Submission = { kind: 'wait', words: 'this workspace has as many jobs as policy lets it have' };
const BELL_KEPT_MS = 24 * 3600 * 1000;

export async function createSlurmBackend(options: SlurmBackendOptions): Promise<Backend> {
  const { run, scope, folder, policy = {}, settleMs = 2_000, pollMs, alert = () => {} } = options;
  const {
    maxJobs,
    container = { kind: 'bubblewrap' },
    logBytes = POLICY_DEFAULTS.runLimits.log_bytes,
  } = options;
  const client = createSlurmClient(run);
  const bell = join(folder, 'bell');
  await mkdir(bell, { recursive: true });
  const watch = createJobWatch({ client, bell, alert, ...(pollMs === undefined ? {} : { pollMs }) });
  const hasRoom = async (): Promise<boolean> => {
    if (maxJobs === undefined) return true;
    const prefix = jobPrefix(scope);
    const open = (await client.list()).filter(
      ({ name, state }) => name.startsWith(prefix) && jobState(state).phase !== 'ended',
    );
    return open.length < maxJobs;
  };
  // One at a time where they are counted, so that no two take the last place.
  const submitter = createSubmitter({
    alert,
    ...(maxJobs === undefined ? {} : { concurrency: 1 }),
    client: { submit: async (...job) => ((await hasRoom()) ? client.submit(...job) : FULL) },
  });
  const tracked = new Map<string, TrackedAttempt>();

  const track = (attempt: Attempt): TrackedAttempt => {
    const known = tracked.get(attempt.id);
    if (known) return known;
    const name = jobName(scope, attempt.id);
    const submit = async (one: Attempt): Promise<Submission> => {
      // As it was meant by whoever began it.
      const meant = (await readJson<{ attempt: Attempt }>(attemptFiles(one.folder).intent))?.attempt ?? one;
      return submitter(
        jobOptions(meant, name, policy),
        jobScript({ attempt: meant, name, bell, container, logBytes, maxEntries: MAX_ENTRIES }),
      );
    };
    const fresh = trackAttempt(attempt, {
      name,
      bell,
      client,
      watch,
      settleMs,
      submit,
      onEnd: () => tracked.delete(attempt.id),
    });
    tracked.set(attempt.id, fresh);
    return fresh;
  };

  return {
    name: 'slurm',
    async start(attempt) {
      admitImage(container, attempt);
      // One that nobody submitted yet would wait for a controller that may never come.
      if (!tracked.has(attempt.id) && (await readJson(attemptFiles(attempt.folder).intent)) === undefined)
        await client.ping();
      const one = track(attempt);
      await one.begin();
      return one.handle;
    },
    async find(attempt) {
      const files = attemptFiles(attempt.folder);
      if (!tracked.has(attempt.id) && (await readJson(files.intent)) === undefined) return undefined;
      const one = track(attempt);
      await one.begin();
      return one.handle;
    },
    async reap(isOpen) {
      const prefix = jobPrefix(scope);
      const rows = (await client.listPlaced()).filter(
        ({ name, state }) => name.startsWith(prefix) && jobState(state).phase !== 'ended',
      );
      const reaped: string[] = [];
      for (const [attemptId, [row]] of Map.groupBy(rows, (one) => one.attemptId)) {
        if (await isOpen(attemptId)) continue;
        const intent = await readJson<{ attempt: Attempt }>(
          attemptFiles(dirname(row!.workFolder)).intent,
        ).catch(() => undefined);
        if (intent?.attempt.id === attemptId) await track(intent.attempt).handle.cancel();
        else await client.cancel({ name: row!.name });
        reaped.push(attemptId);
      }
      await sweepBell(bell);
      return reaped;
    },
    async look({ id }) {
      const name = jobName(scope, id);
      const row = (await client.list()).findLast((one) => one.name === name);
      if (!row) return undefined;
      const reason = row.reason === '' || row.reason === 'None' ? {} : { reason: row.reason };
      return { id: row.id, state: row.state, ...reason, phase: jobState(row.state).phase };
    },
    async probe() {
      await client.ping();
      return 'the controller of the cluster answers';
    },
    async close() {
      for (const one of tracked.values()) one.detach();
      tracked.clear();
    },
  };
}

/** What was left by attempts whose end nobody was there to see, or whose folder is gone. */
async function sweepBell(bell: string): Promise<void> {
  for (const entry of await readdir(bell)) {
    const path = join(bell, entry);
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Number.NaN);
    if (age > BELL_KEPT_MS) await rm(path, { force: true });
  }
}

/** `scope` is what tells this workspace from every other one on the cluster. */
function jobName(scope: string, attemptId: string): string {
  const body = canonicalText({ attempt: attemptId, scope });
  return `${jobPrefix(scope)}${digest('attempt/v1', body).slice(0, 40)}`;
}

export const jobPrefix = (scope: string): string => `haft-${sha256Hex(scope).slice(0, 12)}-`;

/** What policy decides about jobs. None of it is part of a run's identity. */
export interface SlurmPolicy {
  readonly partition?: string;
  readonly account?: string;
  readonly qos?: string;
  readonly reservation?: string;
  readonly constraint?: string;
  readonly gres?: string;
  readonly licenses?: string;
  readonly nice?: number;
}

function jobOptions(attempt: Attempt, name: string, policy: SlurmPolicy): string[] {
  const { resources } = attempt.plan;
  const options: Record<string, string | number | undefined> = {
    'job-name': name,
    comment: attempt.id,
    // Slurm replaces % in the name of the output file, not in the folder that it is in.
    chdir: `${attempt.folder}/meta`,
    output: 'slurm.out',
    'open-mode': 'append',
    nodes: 1,
    ntasks: 1,
    'cpus-per-task': Math.max(1, Math.ceil(resources.cpus)),
    mem: `${Math.ceil(resources.memoryBytes / MIB) + OWN_MIB}M`,
    time: minutesFor(resources),
    // The submitter's is a clean one; without this Slurm would start a login shell to make another.
    export: 'ALL',
    ...policy,
    ...attempt.placement,
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return ['--no-requeue', ...given.map(([option, value]) => `--${option}=${value}`)];
}

const MIB = 1024 * 1024;
/** For the script that watches the program. */
const OWN_MIB = 16;
/** Slower than any disk that outputs are hashed from. */
const HASHED_PER_MS = 20_000;

/** Slurm's limit is only the last resort: the script keeps the exact one. */
function minutesFor({ wallMs, outputBytes }: RunResources): number {
  return Math.ceil((wallMs + outputBytes / HASHED_PER_MS) / 60_000) + 1;
}

type Submitter = (options: readonly string[], script: string) => Promise<Submission>;

interface SubmitterOptions {
  readonly client: Pick<SlurmClient, 'submit'>;
  readonly alert: (message: string) => void;
  readonly concurrency?: number;
  readonly now?: () => number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** While paused it answers `wait` at once. After a pause one is let through to try. */
export function createSubmitter({
  client,
  alert,
  concurrency = 4,
  now = Date.now,
}: SubmitterOptions): Submitter {
  const waiting: (() => void)[] = [];
  let free = concurrency;
  let pauseMs = 0;
  let pausedUntil = 0;

  const enter = async (): Promise<void> => {
    if (free > 0) free--;
    else await new Promise<void>((go) => waiting.push(go));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  };

  const ask: Submitter = async (options, script) => {
    if (now() < pausedUntil) return { kind: 'wait', words: 'the cluster takes no more jobs for now' };
    // The next one waits for what this one finds out.
    if (pauseMs > 0) pausedUntil = now() + pauseMs;
    const answer = await client.submit(options, script).catch(toSubmission);
    if (answer.kind === 'wait') {
      if (pauseMs === 0) alert(`Slurm takes no more jobs for now: ${answer.words}`);
      pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, pauseMs * 2));
      pausedUntil = now() + pauseMs;
    } else if (answer.kind === 'submitted') {
      pauseMs = 0;
      pausedUntil = 0;
    }
    return answer;
  };

  return async (options, script) => {
    await enter();
    try {
      return await ask(options, script);
    } finally {
      leave();
    }
  };
}

/** A command that does not exist will not appear by waiting; anything else may have submitted. */
function toSubmission(thrown: unknown): Submission {
  const { message, cause } = thrown as Error & { cause?: { code?: string } };
  return cause?.code === 'ENOENT'
    ? { kind: 'refused', cause: 'infrastructure.engine', words: message }
    : { kind: 'unknown', words: message };
}
