// Owns: how a Slurm command is run: a seam, and the runner that starts it on this machine.
// Refuses: a shell, and to pass on the environment of this process: SBATCH_* and SLURM_* in it would change jobs.
import { spawn } from 'node:child_process';

/** Runs one command where Slurm's clients are. Rejects when it could not be run or did not end in time. */
export type CommandRunner = (
  command: readonly [string, ...string[]],
  stdin?: string,
  /** Instead of the runner's own. */
  timeoutMs?: number,
) => Promise<CommandResult>;

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface LocalRunnerOptions {
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
