// Owns: running the command as a user would, from the sources.
// Refuses: to swallow anything: status, output and errors all come back.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';

const BIN = join(import.meta.dirname, '../../../src/bin/haft.ts');

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
}

export function startHaft(
  args: readonly string[],
  { cwd, env = {} }: RunOptions,
): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BIN, ...args], {
    cwd,
    env: { ...process.env, ...env },
  });
}

export function haft(args: readonly string[], options: RunOptions): Promise<Ran> {
  const child = startHaft(args, options);
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk) => out.push(chunk));
  child.stderr.on('data', (chunk) => err.push(chunk));
  child.stdin.on('error', () => {});
  child.stdin.end(options.stdin ?? '');
  return new Promise((resolve) => {
    child.once('close', (status) => {
      resolve({ status, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() });
    });
  });
}
