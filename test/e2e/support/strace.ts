// Owns: running a script of ours below strace, and whether strace is there.
// Refuses: to skip quietly: with CI=true a missing strace fails the test.
import { spawn, spawnSync } from 'node:child_process';

export const strace = {
  /** Why the test cannot run, or false. */
  missing:
    spawnSync('strace', ['-V']).status === 0 || process.env.CI === 'true'
      ? false
      : 'strace is not installed (apt-get install strace)',
};

export interface Traced {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function runTraced(
  straceArgs: readonly string[],
  script: string,
  args: readonly string[],
): Promise<Traced> {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', script, ...args];
  const child = spawn('strace', ['-f', '-qq', ...straceArgs, ...node], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  return new Promise((resolve) => {
    child.once('close', (status, signal) => resolve({ status, signal, stdout, stderr }));
  });
}
