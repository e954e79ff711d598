// Owns: the words of sbatch, squeue, sacct and scancel, how they are run, and what they answer, as values.
// Refuses: JSON (it costs eight times as much), exit codes of jobs (they lie), a shell, the environment of this process, and to decide anything.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { fail } from '../../contract/errors.ts';

export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  /** Why it waits or ended, in Slurm's words. */
  readonly reason: string;
}

/** With where its attempt lies and which one it is. */
interface PlacedJobRow extends JobRow {
  readonly attemptId: string;
  readonly workFolder: string;
}

export type Submission =
  | { readonly kind: 'submitted'; readonly id: string }
  | (Refusal & { readonly words: string });

export interface SlurmClient {
  submit(options: readonly string[], script: string): Promise<Submission>;
  /** All jobs of this user that Slurm still knows, in one call. */
  list(): Promise<readonly JobRow[]>;
  listPlaced(): Promise<readonly PlacedJobRow[]>;
  /** From the accounting; undefined where the cluster keeps none. */
  history(names: readonly string[], hours: number): Promise<readonly JobRow[] | undefined>;
  /** Cancels whatever has this name, or only one job. Not being there is fine. */
  cancel(which: { readonly name: string } | { readonly id: string }): Promise<void>;
  /** Rejects with `run.infrastructure` where no controller answers. */
  ping(): Promise<void>;
}

export function createSlurmClient(run: CommandRunner): SlurmClient {
  // --me is where Slurm itself leaves out other people's jobs.
  const squeue = async (format: string): Promise<string[][]> => {
    const command = ['squeue', '--noheader', '--me', '--states=all', `--format=${format}`] as const;
    return fields(answered('squeue', await run(command)), format.split('|').length);
  };
  return {
    async submit(options, script) {
      const { code, stdout, stderr } = await run(['sbatch', '--parsable', ...options], script);
      // --parsable prints `id` or `id;cluster`.
      const id = /^\d+/.exec(stdout.trim())?.[0];
      if (code === 0 && id !== undefined) return { kind: 'submitted', id };
      return { ...refusalOf(stderr), words: lastWords(stderr) };
    },
    async list() {
      return (await squeue('%i|%j|%T|%r')).map(toRow);
    },
    async listPlaced() {
      const rows = await squeue('%i|%j|%T|%k|%Z');
      return rows.map(([id = '', name = '', state = '', attemptId = '', workFolder = '']) => {
        return { id, name, state, reason: '', attemptId, workFolder };
      });
    },
    async history(names, hours) {
      const options = ['--noheader', '--parsable2', '--allocations', '--format=JobID,JobName,State'];
      const since = `--starttime=now-${Math.ceil(hours)}hours`;
      const result = await run(['sacct', ...options, since, `--name=${names.join(',')}`]);
      if (/accounting storage is disabled/i.test(result.stderr)) return undefined;
      return fields(answered('sacct', result), 3).map(([id = '', name = '', state = '']) => ({
        id,
        name,
        state,
        reason: '',
      }));
    },
    async cancel(which) {
      const { code, stderr } = await run(['scancel', 'id' in which ? which.id : `--name=${which.name}`]);
      if (code !== 0) throw new Error(`scancel failed: ${lastWords(stderr)}`);
    },
    async ping() {
      const { stdout, stderr } = await run(['scontrol', 'ping'], '', PING_MS).catch((thrown: Error) => ({
        stdout: '',
        stderr: thrown.message,
      }));
      if (/\bUP\b/.test(stdout)) return;
      const words = withoutPaths(lastWords(stderr) || 'the controller is down');
      throw fail(
        'run.infrastructure',
        `Cannot reach Slurm: ${words}; see that its clients are installed and the controller runs, or name its slurm.conf in haft.yaml (runs.slurm.conf); "haft doctor" tries it`,
      );
    },
  };
}

/** A busy controller may take as long as its MessageTimeout, 10 s unless somebody changed it. */
const PING_MS = 15_000;

const withoutPaths = (words: string) => words.replaceAll(/(?<![\w.])\/[^\s:"',]+/g, '…');

const toRow = ([id = '', name = '', state = '', reason = '']: readonly string[]): JobRow => ({
  id,
  name,
  state,
  reason,
});

/** The last field may hold the separator. */
function fields(text: string, count: number): string[][] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const parts = line.split('|');
      return [...parts.slice(0, count - 1), parts.slice(count - 1).join('|')];
    });
}

function answered(program: string, { code, stdout, stderr }: CommandResult): string {
  if (code !== 0) throw new Error(`${program} failed: ${lastWords(stderr)}`);
  return stdout;
}

/** Without the program's name, and on one line. */
function lastWords(stderr: string): string {
  const lines = stderr.trim().split('\n');
  return lines
    .map((line) => line.replace(/^\w+: (error: )?/, ''))
    .join('; ')
    .slice(0, 300);
}

export function clusterEnv(
  conf: string | undefined,
  { PATH, SLURM_CONF }: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const file = conf ?? SLURM_CONF;
  if (file !== undefined && !existsSync(file))
    throw fail(
      'run.infrastructure',
      `Cannot reach Slurm: there is no slurm.conf where ${conf === undefined ? 'SLURM_CONF' : 'haft.yaml (runs.slurm.conf)'} says; "haft doctor" tries it`,
    );
  return { PATH: PATH ?? '/usr/bin:/bin', ...(file === undefined ? {} : { SLURM_CONF: file }) };
}

/** Runs one command where Slurm's clients are. Rejects when it could not be run or did not end in time. */
export type CommandRunner = (
  command: readonly [string, ...string[]],
  stdin?: string,
  /** Instead of the runner's own. */
  timeoutMs?: number,
) => Promise<CommandResult>;

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface LocalRunnerOptions {
  /** The whole environment, PATH included; SLURM_CONF where the cluster is not the machine's own. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export function createLocalRunner({ env, timeoutMs = 180_000 }: LocalRunnerOptions): CommandRunner {
  return ([program, ...args], stdin = '', timeout = timeoutMs) =>
    new Promise((resolve, reject) => {
      const child = spawn(program, args, { env, timeout, killSignal: 'SIGKILL', stdio: 'pipe' });
      const texts = { stdout: '', stderr: '' };
      for (const stream of ['stdout', 'stderr'] as const) {
        child[stream].setEncoding('utf8');
        child[stream].on('data', (text: string) => {
          texts[stream] += text;
        });
      }
      child.once('error', (cause) => reject(new Error(`${program} cannot be run`, { cause })));
      child.once('close', (code, signal) => {
        if (code === null) reject(new Error(`${program} was ended by ${signal}`));
        else resolve({ code, ...texts });
      });
      // It may end before it has read its input; what it says counts.
      child.stdin.on('error', () => {});
      child.stdin.end(stdin);
    });
}

type Refusal =
  /** The cluster takes no more for now. Nothing was submitted; waiting helps. */
  | { readonly kind: 'wait' }
  /** The answer was lost: the job may be there. */
  | { readonly kind: 'unknown' }
  /** Asking again gives the same answer. */
  | { readonly kind: 'refused'; readonly cause: AttemptCause };

/** `words` is what sbatch wrote to standard error. */
export function refusalOf(words: string): Refusal {
  return TABLE.find(([pattern]) => pattern.test(words))?.[1] ?? { kind: 'unknown' };
}

const wait: Refusal = { kind: 'wait' };
const unknown: Refusal = { kind: 'unknown' };
const refused = (cause: AttemptCause): Refusal => ({ kind: 'refused', cause });

/** The first that matches counts. The texts are those of Slurm 20 to 24. */
const TABLE: readonly (readonly [RegExp, Refusal])[] = [
  // Limits on how much may be submitted or queued, by association, QOS, account or the whole cluster
  [/(Assoc|QOS)\w*Submit\w*|MaxSubmitJob/i, wait],
  [/temporarily unable to accept job|job queue full|ResourcesTemporarilyUnavailable/i, wait],
  [/Resource temporarily unavailable|Too many (array )?jobs|MaxJobCount/i, wait],
  [/slow down|rate limit/i, wait],

  // Nobody can say
  [/timed out|Unable to contact slurm controller|Zero Bytes were transmitted|Unexpected message/i, unknown],
  [
    /Connection (refused|reset)|Transport endpoint|Communication connection failure|in standby mode/i,
    unknown,
  ],

  // More than there is
  [/Requested node configuration is not available/i, refused('limit.resources')],
  [
    /More processors requested than permitted|Memory (specification|required by task)/i,
    refused('limit.resources'),
  ],
  [
    /Requested time limit is invalid|time limit exceeds|Node count specification invalid/i,
    refused('limit.resources'),
  ],
  [/Job violates accounting\/QOS policy/i, refused('limit.resources')],

  // What policy asks for is not there
  [
    /invalid (partition|account|qos|generic resource|constraint|feature|license)|reservation is invalid/i,
    refused('infrastructure.engine'),
  ],
  [
    /User's group not permitted|Access(\/permission)? denied|not permitted to use/i,
    refused('infrastructure.engine'),
  ],
  [
    /Unrecognized option|unrecognized argument|Batch script is empty|Invalid --|Invalid job/i,
    refused('infrastructure.engine'),
  ],
];

export type JobPhase = 'queued' | 'running' | 'ended' | 'unknown';

interface JobState {
  readonly phase: JobPhase;
  /** How an attempt ended whose job is in this state and which left no result. */
  readonly end?: { readonly cause: AttemptCause; readonly fact: string };
}

/** The row of a state as squeue and sacct print it: `CANCELLED by 0`, `NODE_FAIL`, `RUNNING`. */
export function jobState(text: string): JobState {
  const [word = ''] = text.trim().split(/[ +]/);
  return STATES.get(word.toUpperCase()) ?? { phase: 'unknown' };
}

const queued: JobState = { phase: 'queued' };
const running: JobState = { phase: 'running' };
const ended = (cause: AttemptCause, fact: string): JobState => ({ phase: 'ended', end: { cause, fact } });

const STATES: ReadonlyMap<string, JobState> = new Map<string, JobState>([
  // Waits, perhaps again
  ['PENDING', queued],
  ['REQUEUED', queued],
  ['REQUEUE_FED', queued],
  ['REQUEUE_HOLD', queued],
  ['RESV_DEL_HOLD', queued],
  ['SPECIAL_EXIT', queued],

  // Has a node, or is about to let go of it
  ['CONFIGURING', running],
  ['POWER_UP_NODE', running],
  ['EXPEDITING', running],
  ['RUNNING', running],
  ['COMPLETING', running],
  ['RESIZING', running],
  ['SIGNALING', running],
  ['STAGE_OUT', running],
  ['STOPPED', running],
  ['SUSPENDED', running],
  ['UPDATE_DB', running],

  // Is over
  ['COMPLETED', ended('lost', 'Slurm calls its job completed, but it left no result')],
  ['FAILED', ended('infrastructure.engine', 'its job failed before it could leave a result')],
  ['CANCELLED', ended('cancelled', 'its job was cancelled')],
  ['TIMEOUT', ended('limit.time', 'its job reached the time limit that it had in Slurm')],
  ['DEADLINE', ended('limit.time', 'its job reached its deadline in Slurm')],
  ['OUT_OF_MEMORY', ended('limit.memory', 'its job used up the memory that it had in Slurm')],
  ['NODE_FAIL', ended('infrastructure.node', 'the node that its job ran on failed')],
  ['BOOT_FAIL', ended('infrastructure.node', 'the node for its job did not start')],
  ['LAUNCH_FAILED', ended('infrastructure.node', 'its job could not be launched on its node')],
  ['RECONFIG_FAIL', ended('infrastructure.node', 'the node for its job could not be configured')],
  ['PREEMPTED', ended('infrastructure.preempted', 'its job had to make room for a more urgent one')],
  ['REVOKED', ended('infrastructure.engine', 'its job was given to another cluster')],
]);

/** Whether a job that waits for this reason waits for ever, unless somebody changes something. */
export const isStuck = (reason: string): boolean => STUCK.test(reason);

const STUCK =
  /^(BadConstraints|Partition(Config|Down|Inactive|NodeLimit|TimeLimit)|InvalidAccount|InvalidQOS|AccountNotAllowed|QOSNotAllowed|ReservationDeleted|JobHeld\w+|launch failed requeued held|DependencyNeverSatisfied|FrontEndDown|\w+PerJob\w*)/;
