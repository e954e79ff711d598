// Owns: daemons that belong to one folder: started there, recorded there, and stopped by what was recorded.
// Refuses: to signal a process that it did not record; a pid that was given out again is left alone.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ignoreErrors } from '../../src/base/ignore-errors.ts';
import { isAlive, processIdentity } from '../../src/stores/process-identity.ts';

export interface DaemonSpec {
  readonly name: string;
  /** Must stay in the foreground. */
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

/** Starts a daemon unless the one that was recorded under its name still runs. */
export function startDaemon(folder: string, { name, command, env }: DaemonSpec): void {
  if (isRunning(folder, name)) return;
  mkdirSync(join(folder, 'pids'), { recursive: true });
  mkdirSync(join(folder, 'log'), { recursive: true });
  const log = openSync(join(folder, 'log', `${name}.out`), 'a');
  const [program, ...args] = command;
  const child = spawn(program, args, { cwd: folder, env, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  child.on('error', () => {});
  child.unref();
  if (child.pid !== undefined) writeFileSync(record(folder, name), processIdentity(child.pid));
}

export function isRunning(folder: string, name: string): boolean {
  const identity = recorded(folder, name);
  return identity !== undefined && isAlive(identity);
}

/** SIGTERM, and SIGKILL for those that do not listen; in the order given, then whatever else was recorded. */
export async function stopDaemons(folder: string, order: readonly string[] = []): Promise<void> {
  const names = [...order, ...recordedNames(folder).filter((name) => !order.includes(name))];
  for (const name of names) {
    const identity = recorded(folder, name);
    if (identity === undefined) continue;
    const gone = () => !isAlive(identity);
    signal(identity, 'SIGTERM');
    if (!(await until(gone, 15_000))) {
      signal(identity, 'SIGKILL');
      await until(gone, 5_000);
    }
    rmSync(record(folder, name), { force: true });
  }
}

/** Waits for a condition; false when it did not come true in time. */
export async function until(condition: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await sleep(40);
  }
  return true;
}

/** The innermost first. */
export function mountsBelow(folder: string): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return mounts
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`))
    .reverse();
}

function signal(identity: string, name: NodeJS.Signals): void {
  if (!isAlive(identity)) return;
  ignoreErrors(() => process.kill(Number(identity.split(':')[0]), name));
}

const record = (folder: string, name: string) => join(folder, 'pids', name);

const recorded = (folder: string, name: string): string | undefined =>
  ignoreErrors(() => readFileSync(record(folder, name), 'utf8'));

const recordedNames = (folder: string): string[] =>
  ignoreErrors(() => readdirSync(join(folder, 'pids'))) ?? [];
