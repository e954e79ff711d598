// Owns: how many searches run at once, and the small shells that are kept to start the next: a fork of one costs a millisecond,
// however big this process is.
// Refuses: to let a search outlive its call (what is aborted is killed, shell and all), and to ask a shell for a second program
// before the first has ended.
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { newId } from '../../../base/new-id.ts';
import { shWord, shWords } from '../../../base/shell/shell-quote.ts';
import { startKeptProcess } from '../../kept-process.ts';

export interface ShellPool {
  /** Waits for a free place. Rejects with the signal's reason once it aborts. */
  run(program: Program, signal: AbortSignal): Promise<Ended>;
  /** Ends every shell. Programs under way end too. */
  close(): void;
}

/** A search uses every processor there is; more at once only take longer together. */
const MAX_RUNNING = 4;
const MAX_IDLE = 2;

export function createShellPool(start: () => KeptShell = startKeptShell): ShellPool {
  const idle: KeptShell[] = [];
  const busy = new Set<KeptShell>();
  const waiting: (() => void)[] = [];
  let closed = false;

  const take = (): KeptShell => {
    const shell = idle.pop();
    if (!shell) return start();
    return shell.gone ? take() : shell;
  };
  const giveBack = (shell: KeptShell) => {
    busy.delete(shell);
    if (closed || idle.length >= MAX_IDLE) shell.kill();
    if (!shell.gone) idle.push(shell);
    waiting.shift()?.();
  };

  return {
    async run(program, signal) {
      signal.throwIfAborted();
      while (busy.size >= MAX_RUNNING) await turn(waiting, signal);
      if (signal.aborted) {
        // It was this one's turn; the next shall have it.
        waiting.shift()?.();
        throw signal.reason;
      }
      const shell = take();
      busy.add(shell);
      signal.addEventListener('abort', shell.kill, { once: true });
      try {
        const ended = await shell.run(program);
        signal.throwIfAborted();
        return ended;
      } finally {
        signal.removeEventListener('abort', shell.kill);
        giveBack(shell);
      }
    },
    close() {
      closed = true;
      for (const shell of [...idle.splice(0), ...busy]) shell.kill();
    },
  };
}

async function turn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  let leave = () => {};
  try {
    await new Promise<void>((resolve, reject) => {
      leave = () => {
        const at = waiting.indexOf(resolve);
        if (at >= 0) waiting.splice(at, 1);
        reject(signal.reason);
      };
      waiting.push(resolve);
      signal.addEventListener('abort', leave, { once: true });
    });
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

export interface Program {
  /** Absolute. */
  readonly path: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** What the program can read as `EXTRA_INPUT`. */
  readonly extraInput?: string | undefined;
  /** Gets everything that it prints, the last few bytes not before more follows or it has ended. Answering false ends it. */
  onOutput(chunk: Buffer): boolean;
}

interface Ended {
  /** As shells say it: 128 + n where signal n ended it. Undefined where it was stopped, or the shell died. */
  readonly code: number | undefined;
  /** The beginning of what it complained about. */
  readonly complaints: string;
}

interface KeptShell {
  run(program: Program): Promise<Ended>;
  /** Ends the shell and what runs in it, at once. */
  kill(): void;
  /** True once it can run nothing any more. */
  readonly gone: boolean;
}

/** Where a program finds its `extraInput`. */
export const EXTRA_INPUT = '/dev/fd/9';

const MAX_COMPLAINTS = 64 * 1024;
/** Should this process be killed, nothing it started computes for longer than this many seconds. */
const CPU_SECONDS = 120;

export function startKeptShell(): KeptShell {
  const kept = startKeptProcess(['/bin/sh', '-s'], { LC_ALL: 'C', PATH: '/usr/bin:/bin' });
  const { child } = kept;
  let killed = false;
  let onGone = () => {};
  void kept.ended.then(() => onGone());
  child.stdin.write(`ulimit -c 0; ulimit -t ${CPU_SECONDS}\n`);
  kept.unref();
  const kill = () => {
    killed = true;
    kept.kill();
  };

  return {
    kill,
    get gone() {
      return killed || kept.exited;
    },
    async run(program) {
      kept.ref();
      try {
        return await new Promise<Ended>((resolve) => {
          const complaints: Buffer[] = [];
          onGone = () => resolve({ code: undefined, complaints: '' });
          if (kept.exited) return onGone();
          converse(child, program, kill, complaints, (code) =>
            resolve({ code, complaints: Buffer.concat(complaints).toString('utf8', 0, MAX_COMPLAINTS) }),
          );
        });
      } finally {
        onGone = () => {};
        child.stdout.removeAllListeners('data');
        child.stderr.removeAllListeners('data');
        kept.unref();
      }
    },
  };
}

/** Both streams end with a mark that nobody can guess, and the mark with the exit code. */
function converse(
  child: ChildProcessWithoutNullStreams,
  program: Program,
  kill: () => void,
  complaints: Buffer[],
  done: (code: number) => void,
): void {
  const mark = newId('end');
  const codes: number[] = [];
  const ended = (code: number) => {
    if (codes.push(code) === 2) done(code);
  };
  let complained = 0;
  child.stdout.on(
    'data',
    untilMark(mark, ended, (chunk) => {
      if (!program.onOutput(chunk)) kill();
    }),
  );
  child.stderr.on(
    'data',
    untilMark(mark, ended, (chunk) => {
      if (complained < MAX_COMPLAINTS) complaints.push(chunk);
      complained += chunk.length;
    }),
  );
  const words = shWords([program.path, ...program.args]);
  const extra = program.extraInput;
  const input = extra === undefined ? '' : ` 9<<'${mark}'\n${extra.replaceAll('\0', '')}\n${mark}`;
  child.stdin.write(
    `(cd ${shWord(program.cwd)} && exec ${words}) </dev/null${input}\nc=$?; printf '${mark}%03d' $c; printf '${mark}%03d' $c >&2\n`,
  );
}

/** Hands on everything but the mark, which comes last and may arrive in pieces. */
function untilMark(mark: string, ended: (code: number) => void, onData: (chunk: Buffer) => void) {
  const length = mark.length + 3;
  let held: Buffer = Buffer.alloc(0);
  return (chunk: Buffer) => {
    const all = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const split = Math.max(0, all.length - length);
    held = all.subarray(split);
    if (split > 0) onData(all.subarray(0, split));
    if (held.length === length && held.toString('latin1', 0, mark.length) === mark)
      ended(Number(held.toString('latin1', mark.length)));
  };
}
