// Owns: the one small process that this one starts: everything else is forked by it, however big this one has grown.
// Refuses: to outlive this process. When its input ends it ends all slots and removes what they used.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { orUndefined } from '../../../base/or-undefined.ts';
import { KEEPER, SHOW } from './keeper-script.ts';
import { onLines } from './lines.ts';

export interface Keeper {
  /** Sends a line that answers `… ok` or `… failed`. Lines are obeyed in order. */
  ask(line: string): Promise<boolean>;
  /** Sends a line without an answer. */
  tell(line: string): void;
  /** What it and the slots have complained about last. */
  complaints(): string;
  /** Of the process, as /proc names it. */
  readonly pid: number;
  readonly gone: boolean;
  /** Ends the slots and waits until everything is removed. */
  close(): Promise<void>;
}

export interface KeeperOptions {
  readonly shell: string;
  readonly bash: string | undefined;
  readonly scratch: string;
  /** Whether it shall have mounts of its own; only root can. */
  readonly mounts: boolean;
  readonly drop: string;
  readonly groups: readonly string[];
  /** How long it has for an answer, and for its end; by default `ANSWER_MS`. */
  readonly answerMs?: number;
}

/** A keeper answers within milliseconds; one that needs this long never will, and is killed. */
const ANSWER_MS = 30_000;

/** Undefined where it cannot be started in this way. */
export async function startKeeper(options: KeeperOptions): Promise<Keeper | undefined> {
  const { shell, scratch, mounts, drop, groups } = options;
  const argv = [
    shell,
    '-c',
    KEEPER,
    'haft-keeper',
    scratch,
    mounts ? 'private' : 'shared',
    shell,
    drop,
    SHOW,
    ...groups,
  ];
  if (mounts) argv.unshift('unshare', '-m', '--propagation', 'slave', '--');
  const leaking = inheritable();
  const closer = leaking.every((fd) => fd < 10) ? shell : options.bash;
  if (closer && leaking.length > 0) {
    argv.unshift(closer, '-c', `exec ${leaking.map((fd) => `${fd}>&-`).join(' ')}; exec "$@"`, 'haft-keeper');
  }
  const nothing = closer ? undefined : openSync('/dev/null', 'r');
  // A session of its own: an interrupt typed at the terminal is for this process to handle.
  const child = spawn(argv[0]!, argv.slice(1), {
    env: { PATH: SYSTEM_PATH },
    stdio: ['pipe', 'pipe', 'pipe', ...(nothing === undefined ? [] : covered(leaking, nothing))],
    cwd: '/',
    detached: true,
  }) as ChildProcessWithoutNullStreams;
  if (nothing !== undefined) closeSync(nothing);
  const waiting: ((ok: boolean) => void)[] = [];
  let complaints = '';
  let gone = false;
  const handles = [child, child.stdin as Socket, child.stdout as Socket, child.stderr as Socket];
  const hold = () => {
    for (const handle of handles) handle.ref();
  };
  const letGo = () => {
    for (const handle of handles) handle.unref();
  };
  const { answerMs = ANSWER_MS } = options;
  const complain = (text: string) => {
    complaints = (complaints + text).slice(-4096);
  };
  /** With all that it has started and that is still in its group. Answers would no longer be told apart. */
  const giveUp = (what: string) => () => {
    complain(`\nthe keeper of the sandboxes did not ${what} within ${answerMs / 1000} s\n`);
    orUndefined(() => process.kill(-child.pid!, 'SIGKILL'));
  };
  const expect = () =>
    new Promise<boolean>((resolve) => {
      if (gone) return resolve(false);
      hold();
      const timer = setTimeout(giveUp('answer'), answerMs);
      waiting.push((ok) => {
        clearTimeout(timer);
        resolve(ok);
      });
    });

  const exited = new Promise<void>((resolve) => {
    const end = () => {
      gone = true;
      for (const resolve of waiting.splice(0)) resolve(false);
      resolve();
    };
    child.once('exit', end).once('error', end);
  });
  child.stdin.on('error', () => {}); // it died; `gone` says so
  child.stderr.on('data', (chunk: Buffer) => {
    complain(chunk.toString('utf8'));
  });
  onLines(child.stdout, (line) => {
    waiting.shift()?.(!line.endsWith('failed'));
    if (waiting.length === 0) letGo();
  });

  if (!(await expect())) return undefined;
  return {
    ask(line) {
      if (line.includes('\n')) return Promise.resolve(false); // the rest would be a line of its own
      const answer = expect();
      child.stdin.write(`${line}\n`);
      return answer;
    },
    tell: (line) => void child.stdin.write(`${line}\n`),
    complaints: () => complaints,
    pid: child.pid!,
    get gone() {
      return gone;
    },
    async close() {
      if (gone) return;
      hold();
      child.stdin.end();
      const timer = setTimeout(giveUp('end'), answerMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** Where the system's own programs are; never the caller's PATH. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Descriptors that this process was born with and that its children would get too: whoever started it may have left
 * anything open. Those that Node.js opened itself close by themselves.
 */
function inheritable(): number[] {
  const open = orUndefined(() => readdirSync('/proc/self/fd')) ?? [];
  return open.map(Number).filter((fd) => {
    const flags = orUndefined(
      () => readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').match(/^flags:\s*(\d+)/m)?.[1],
    );
    return fd > 2 && flags !== undefined && (Number.parseInt(flags, 8) & CLOEXEC) === 0;
  });
}

const CLOEXEC = 0o2000000;

/** Where no shell can close them, /dev/null takes their place. Only descriptors up to 2 would be covered by `ignore` (tried). */
const covered = (fds: readonly number[], nothing: number): number[] =>
  Array(Math.max(2, ...fds) - 2).fill(nothing);
