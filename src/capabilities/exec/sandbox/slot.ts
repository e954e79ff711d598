// Owns: one kept shell that runs one program at a time, over named pipes that it opens anew for every program; a sandbox
// that it lays out in advance; and the pool that says which slot serves whom.
// Refuses: to share a stream between programs, or to hand out a slot whose shell is gone. What ends a stream is that all who
// wrote to it are gone, so no text can pass for an end; how a program ended comes on a pipe that it never sees.
import { chmodSync, chownSync, closeSync, constants, mkdirSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ignoreErrors, succeeds } from '../../../base/ignore-errors.ts';
import { shWord, shWords } from '../../../base/shell/shell-quote.ts';
import type { SlotCgroup } from './limits.ts';

export interface Slot {
  readonly id: number;
  readonly cgroup: SlotCgroup | undefined;
  /** True once the shell is gone; no further program may be given to it. */
  readonly dead: boolean;
  /**
   * One at a time: the next after `onEnd`, with both streams at their end. True when its sandbox was laid out before,
   * and may not be what it was then.
   */
  execute(job: SlotJob): boolean;
  /**
   * Lays out a sandbox for a program that is yet to come: one like the last, if that was like the one before it. It waits
   * there for a while, with nothing in it but the shell that waits.
   */
  layOut(): void;
  /** Ends the shell, and with it the program under way. */
  kill(): void;
}

/** The process that forks slots. */
export interface SlotKeeper {
  /** Sends a line that answers `… ok` or `… failed`. Lines are obeyed in order. */
  ask(line: string): Promise<boolean>;
  /** Sends a line without an answer. */
  tell(line: string): void;
  readonly gone: boolean;
}

export interface SlotOptions {
  readonly keeper: SlotKeeper;
  readonly scratch: string;
  readonly id: number;
  readonly bwrap: string;
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  readonly cgroup: SlotCgroup | undefined;
}

/** Undefined when the slot could not be made; the keeper's complaints say why. */
export async function openSlot(options: SlotOptions): Promise<Slot | undefined> {
  const { keeper, scratch, id, owner, cgroup } = options;
  const folder = join(scratch, String(id));
  mkdirSync(folder);
  chmodSync(folder, 0o711);
  if (!(await keeper.ask(`fifos ${id}`))) return undefined;
  if (owner)
    for (const name of ['in', 'out', 'err', 'gate']) chownSync(join(folder, name), owner.uid, owner.gid);

  const open = (name: string, mode: number) =>
    openSync(join(folder, name), mode | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  const commands = new Socket({ fd: open('cmd', constants.O_RDWR), readable: false, writable: true });
  // Held until the shell has opened it too, for a pipe without a writer is at its end.
  const hold = open('status', constants.O_RDWR);
  const status = new Socket({ fd: open('status', constants.O_RDONLY), readable: true, writable: false });
  commands.on('error', () => {});
  status.on('error', () => {});
  const handles = [commands, status];

  let current: Layout | undefined;
  /** Comes after a sandbox that was laid out for another. */
  let next: SlotJob | undefined;
  let last: Likeness | undefined;
  /** Whether the last program was like the one before it. */
  let repeated = false;
  let expiry: NodeJS.Timeout | undefined;
  let closing: NodeJS.Timeout | undefined;
  let pid = 0;
  let dead = false;
  let profile: readonly string[] | undefined;
  let opened: (slot: Slot | undefined) => void;
  const ready = new Promise<Slot | undefined>((resolve) => {
    opened = resolve;
  });
  const giveUp = setTimeout(() => status.destroy(), OPENING_MS);

  const begin = (like: Likeness, job: SlotJob | undefined) => {
    const gate = open('gate', constants.O_RDWR);
    current = { like, job, pipes: openPipes(open, like.stdin), gate, init: 0, set: false, ran: false };
    let text = '';
    if (!sameWords(profile, like.profile)) {
      text = `p() { exec ${shWords([options.bwrap, ...like.profile])} "$@"; }\n`;
      profile = like.profile;
    }
    // A program may open its stdin again by name, which would block on a named pipe that has no writer any more;
    // so `cat` makes it a nameless one. Being the last of its pipeline, bubblewrap is still a child of this shell.
    const shared = (name: string) => shWord(join(scratch, 'share', name));
    const single = like.single ? ` 6<${shared('single')}` : '';
    const words = shWords([...like.setting, ...(job?.argv ?? [])]);
    const program = `p ${words} 7>&3 8<gate 9<${shared('seccomp')}${single}`;
    const fed = like.stdin ? `{ cat 3>&- | ${program}; } <in` : `(${program}) </dev/null`;
    commands.write(`${text}${fed} >out 2>err; echo "D $?" >&3\n`);
  };
  /** Not earlier: a pipe that nobody has opened for writing yet looks like one at its end. */
  const hand = (layout: Layout) => {
    const { pipes, job } = layout;
    if (!pipes || !job) return;
    layout.pipes = undefined;
    job.onStart(pipes.streams());
  };
  const admit = (layout: Layout, words: string) => {
    hand(layout);
    const answer = (may: boolean) => {
      if (layout === current) writeSync(layout.gate, may ? `go${words}\n` : 'no\n');
    };
    const verdict = layout.job?.admit() ?? false;
    if (typeof verdict === 'boolean') answer(verdict);
    else void verdict.then(answer);
  };
  const dismiss = () => {
    clearTimeout(expiry);
    if (!current || current.unwanted) return;
    current.unwanted = true;
    if (current.set) writeSync(current.gate, 'no\n');
  };
  const finish = (code: number | undefined) => {
    const ended = current;
    current = undefined;
    clearTimeout(expiry);
    ended?.pipes?.drop();
    if (ended) closeSync(ended.gate);
    const waiting = next;
    next = undefined;
    if (waiting && !dead && succeeds(() => begin(waiting, waiting))) return;
    for (const handle of handles) handle.unref();
    ended?.job?.onEnd({ ran: ended.ran, code });
    waiting?.onEnd({ ran: false, code: undefined });
  };
  const onLine: Readonly<Record<string, (rest: string) => void>> = {
    R: (rest) => {
      pid = Number(rest);
      clearTimeout(giveUp);
      closeSync(hold);
      for (const handle of handles) handle.unref();
      opened(slot);
    },
    X: () => status.destroy(),
    M: () => {
      if (!current) return;
      current.set = true;
      if (current.unwanted) writeSync(current.gate, 'no\n');
      else if (current.job) admit(current, current.late ? ` ${shWords(current.job.argv)}` : '');
    },
    '{': (rest) => {
      if (!current) return;
      const child = /"child-pid": (\d+)/.exec(rest)?.[1];
      if (child) {
        current.init = Number(child);
        current.job?.onInit(current.init);
      }
      if (!rest.includes('"exit-code"')) return;
      current.ran = true;
      current.job?.onExit();
    },
    D: (rest) => {
      if (current) hand(current); // without an M it holds what bubblewrap complained about
      finish(Number(rest));
    },
  };
  onLines(status, (line) => onLine[line[0] ?? '']?.(line.slice(2)));
  status.on('close', () => {
    dead = true;
    clearTimeout(giveUp);
    clearTimeout(closing);
    if (pid === 0) closeSync(hold);
    commands.destroy();
    opened(undefined);
    finish(undefined);
  });

  const slot: Slot = {
    id,
    cgroup,
    get dead() {
      return dead || keeper.gone;
    },
    execute(job) {
      for (const handle of handles) handle.ref();
      const { profile, setting, single, mountsSeen, stdin } = job;
      repeated = last !== undefined && alike(last, job);
      last = { profile, setting, single, mountsSeen, stdin };
      if (!current) {
        begin(job, job);
        return false;
      }
      if (!alike(current.like, job) || !fitsTheGate(job.argv) || current.unwanted) {
        next = job;
        dismiss();
        return false;
      }
      clearTimeout(expiry);
      const layout = current;
      layout.job = job;
      layout.late = true;
      // As ever: what the caller sets up after this is there before it hears anything.
      queueMicrotask(() => {
        if (layout !== current) return;
        if (layout.init !== 0) job.onInit(layout.init);
        if (layout.set) admit(layout, ` ${shWords(job.argv)}`);
      });
      return true;
    },
    layOut() {
      if (dead || keeper.gone || current || !repeated || !last || last.stdin) return;
      const like = last;
      if (!succeeds(() => begin(like, undefined))) return;
      expiry = setTimeout(dismiss, LAID_OUT_MS).unref();
    },
    kill() {
      dead = true;
      ignoreErrors(() => process.kill(pid, 'SIGKILL'));
      // Whoever outlives the shell may hold its status for ever.
      closing ??= setTimeout(() => status.destroy(), CLOSING_MS);
    },
  };
  keeper.tell(`slot ${id} ${shWords(cgroup?.folders ?? [])}`);
  commands.write('echo "R $$" >&3\n');
  return ready;
}

/** A shell starts within milliseconds; a machine that needs this long has other troubles. */
const OPENING_MS = 10_000;

/** How long a killed shell, and what it has told, has to come to its end. */
const CLOSING_MS = 2_000;

/** Somebody who runs one command often runs the next within this time. */
const LAID_OUT_MS = 15_000;

export interface SlotJob {
  /** The words after `bwrap`: those that rarely change, then those around this program, then its own. */
  readonly profile: readonly string[];
  readonly setting: readonly string[];
  readonly argv: readonly string[];
  /** Whether `profile` takes `singleProcessProgram` from descriptor 6. */
  readonly single: boolean;
  /** See `Engine.mountsSeen`. */
  readonly mountsSeen: string;
  readonly stdin: boolean;
  onStart(streams: SlotStreams): void;
  /** The process id, outside, of the first process inside. With it the whole tree dies. */
  onInit(pid: number): void;
  /** Everything is set up and the program is about to begin; it does so if this is true. */
  admit(): boolean | Promise<boolean>;
  /** The tree has ended; what it wrote may still be on its way. */
  onExit(): void;
  onEnd(end: SlotEnd): void;
}

export interface SlotStreams {
  readonly stdin: Socket | undefined;
  readonly stdout: Socket;
  readonly stderr: Socket;
}

/** `ran` is false when bubblewrap failed before the program: nothing of it has happened. Undefined code: the slot died. */
export interface SlotEnd {
  readonly ran: boolean;
  readonly code: number | undefined;
}

/** One bubblewrap, from its words to its end. */
interface Layout {
  readonly like: Likeness;
  /** Undefined while the program is yet to come. */
  job: SlotJob | undefined;
  /** Until they are handed over. */
  pipes: OpenPipes | undefined;
  readonly gate: number;
  /** The first process inside, outside; 0 until it is known. */
  init: number;
  /** Everything is set up, and the first process waits at the gate. */
  set: boolean;
  ran: boolean;
  /** Its program came after its words, and has to be told at the gate. */
  late?: boolean;
  /** Dismissed, or to be as soon as it comes to the gate. */
  unwanted?: boolean;
}

/** What programs have in common that one sandbox would do for. */
type Likeness = Pick<SlotJob, 'profile' | 'setting' | 'single' | 'mountsSeen' | 'stdin'>;

const alike = (a: Likeness, b: Likeness): boolean =>
  !a.stdin &&
  !b.stdin &&
  a.single === b.single &&
  a.mountsSeen === b.mountsSeen &&
  sameWords(a.profile, b.profile) &&
  sameWords(a.setting, b.setting);

/** The gate takes one short line of ASCII: it is read byte by byte, and some shells keep bytes beyond for themselves. */
const fitsTheGate = (argv: readonly string[]): boolean => {
  const line = shWords(argv);
  return line.length <= 1024 && /^[\x20-\x7e]*$/.test(line);
};

interface OpenPipes {
  streams(): SlotStreams;
  drop(): void;
}

/** `open`: one of the slot's named pipes, without waiting for its other end. */
function openPipes(open: (name: string, mode: number) => number, withStdin: boolean): OpenPipes {
  const stdin = withStdin ? open('in', constants.O_RDWR) : undefined;
  const stdout = open('out', constants.O_RDONLY);
  const stderr = open('err', constants.O_RDONLY);
  const reader = (fd: number) => new Socket({ fd, readable: true, writable: false });
  return {
    streams: () => ({
      stdin: stdin === undefined ? undefined : new Socket({ fd: stdin, readable: false, writable: true }),
      stdout: reader(stdout),
      stderr: reader(stderr),
    }),
    drop: () => {
      for (const fd of [stdin, stdout, stderr]) if (fd !== undefined) closeSync(fd);
    },
  };
}

const sameWords = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a === b || (a?.length === b.length && b.every((word, i) => word === a[i]));

export interface SlotPool {
  /** Undefined when no slot can be made, or when aborted. `counted` ones are bounded by the concurrency, others never wait. */
  acquire(counted: boolean, signal?: AbortSignal): Promise<Slot | undefined>;
  release(slot: Slot, counted: boolean): void;
  /** Whether no counted one is under way or waits. */
  readonly quiet: boolean;
}

export function createSlotPool(concurrency: number, open: () => Promise<Slot | undefined>): SlotPool {
  const idle: Slot[] = [];
  const waiting = new Set<() => void>();
  let busy = 0;
  const idleSlot = () => {
    for (let slot = idle.pop(); slot; slot = idle.pop()) if (!slot.dead) return slot;
    return undefined;
  };
  const free = (counted: boolean) => {
    if (!counted) return;
    busy--;
    const [next] = waiting;
    next?.();
  };
  /** True when it is somebody's turn, false when they no longer want it. */
  const turn = (signal: AbortSignal | undefined) =>
    new Promise<boolean>((resolve) => {
      const go = (mine: boolean) => {
        waiting.delete(take);
        signal?.removeEventListener('abort', leave);
        resolve(mine);
      };
      const take = () => {
        busy++;
        go(true);
      };
      const leave = () => go(false);
      if (busy < concurrency) return take();
      if (signal?.aborted) return leave();
      waiting.add(take);
      signal?.addEventListener('abort', leave);
    });
  return {
    async acquire(counted, signal) {
      if (counted && !(await turn(signal))) return undefined;
      const slot = idleSlot() ?? (await open());
      if (!slot) free(counted);
      return slot;
    },
    release(slot, counted) {
      if (!slot.dead) idle.push(slot);
      free(counted);
    },
    get quiet() {
      return busy === 0 && waiting.size === 0;
    },
  };
}

export function onLines(stream: Readable, take: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) take(line);
  });
}
