// Owns: running the command as a user would: as it is built.
// Refuses: to swallow anything: status, output and errors all come back.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { builtCommand } from '../../support/built-command.ts';

/** What makes Node the command `haft`. */
export const NODE_ARGS: readonly string[] = [builtCommand()];

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
  return spawn(process.execPath, [...NODE_ARGS, ...args], {
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

/** With standard output going to a file or device; nothing of it comes back. */
export function haftInto(path: string, args: readonly string[], { cwd }: RunOptions): Ran {
  const out = openSync(path, 'w');
  try {
    const { status, stderr } = spawnSync(process.execPath, [...NODE_ARGS, ...args], {
      cwd,
      stdio: ['ignore', out, 'pipe'],
      encoding: 'utf8',
    });
    return { status, stdout: '', stderr };
  } finally {
    closeSync(out);
  }
}
