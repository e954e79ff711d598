// Owns: one small process that is kept to start others, however big this one has grown: in a group of its own, so that all of it can
// be ended at once, and keeping this process alive only while it is asked something.
// Refuses: to know what it is told and what it answers.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { ignoreErrors } from '../base/ignore-errors.ts';

export interface KeptProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Also where it could not be started. */
  readonly exited: boolean;
  readonly ended: Promise<void>;
  ref(): void;
  unref(): void;
  /** At once, with all that is in its group. */
  kill(): void;
}

/** `inherited`: what its descriptors from 3 on are. */
export function startKeptProcess(
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
  inherited: readonly number[] = [],
): KeptProcess {
  const child = spawn(program, args, {
    cwd: '/',
    env,
    stdio: ['pipe', 'pipe', 'pipe', ...inherited],
    // A session of its own: an interrupt typed at the terminal is for this process to handle.
    detached: true,
  }) as ChildProcessWithoutNullStreams;
  const handles = [child, child.stdin as Socket, child.stdout as Socket, child.stderr as Socket];
  const ended = Promise.withResolvers<void>();
  const kept = {
    child,
    exited: false,
    ended: ended.promise,
    ref() {
      for (const handle of handles) handle.ref();
    },
    unref() {
      for (const handle of handles) handle.unref();
    },
    kill() {
      if (!kept.exited && child.pid !== undefined) ignoreErrors(() => process.kill(-child.pid!, 'SIGKILL'));
    },
  };
  const end = () => {
    kept.exited = true;
    ended.resolve();
  };
  child.once('exit', end).once('error', end);
  child.stdin.on('error', () => {}); // it died; `exited` says so
  return kept;
}
