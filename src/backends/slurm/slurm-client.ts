// Owns: the words of sbatch, squeue, sacct and scancel, and what they answer, as values.
// Refuses: JSON (it costs eight times as much), exit codes of jobs (they lie), and to decide anything.
import { fail } from '../../contract/errors.ts';
import type { CommandResult, CommandRunner } from './command-runner.ts';
import { type Refusal, refusalOf } from './refusals.ts';

export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  /** Why it waits or ended, in Slurm's words. */
  readonly reason: string;
}

/** With where its attempt lies and which one it is. */
export interface PlacedJobRow extends JobRow {
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
