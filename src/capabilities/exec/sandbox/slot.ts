// Owns: one kept shell that runs one program at a time, over named pipes that it opens anew for every program.
// Refuses: to share a stream between programs. What ends a stream is that all who wrote to it are gone, so no text
// can pass for an end; how a program ended comes on a pipe that it never sees.
import { chmodSync, chownSync, closeSync, constants, mkdirSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { SlotCgroup } from './cgroup.ts';
import type { Keeper } from './keeper.ts';
import { onLines } from './lines.ts';
import { quietly } from './quietly.ts';
import { shWord, shWords } from './sh-word.ts';

export interface Slot {
  readonly id: number;
  readonly cgroup: SlotCgroup | undefined;
  /** True once the shell is gone; no further program may be given to it. */
  readonly dead: boolean;
  /** One at a time: the next after `onEnd`, with both streams at their end. */
  execute(job: SlotJob): void;
  /** Ends the shell, and with it the program under way. */
  kill(): void;
}

export interface SlotJob {
  /** The words after `bwrap`: those that rarely change, then those of this program. */
  readonly profile: readonly string[];
  readonly words: readonly string[];
  readonly stdin: boolean;
  readonly single: boolean;
  onStart(streams: SlotStreams): void;
  /** The process id, outside, of the first process inside. With it the whole tree dies. */
  onInit(pid: number): void;
  /** Everything is set up and the program is about to begin; it does so if this is true. */
  admit(): boolean;
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

export interface SlotOptions {
  readonly keeper: Keeper;
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

  let job: SlotJob | undefined;
  let pending: OpenPipes | undefined;
  let gate: number | undefined;
  let pid = 0;
  let ran = false;
  let dead = false;
  let profile: readonly string[] | undefined;
  let opened: (slot: Slot | undefined) => void;
  const ready = new Promise<Slot | undefined>((resolve) => {
    opened = resolve;
  });
  const giveUp = setTimeout(() => status.destroy(), OPENING_MS);

  /** Not earlier: a pipe that nobody has opened for writing yet looks like one at its end. */
  const hand = () => {
    const pipes = pending;
    pending = undefined;
    if (pipes) job?.onStart(pipes.streams());
  };
  const finish = (code: number | undefined) => {
    const ended = job;
    job = undefined;
    pending?.drop();
    pending = undefined;
    if (gate !== undefined) closeSync(gate);
    gate = undefined;
    for (const handle of handles) handle.unref();
    ended?.onEnd({ ran, code });
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
      hand();
      if (gate !== undefined) writeSync(gate, job?.admit() ? 'go\n' : 'no\n');
    },
    '{': (rest) => {
      const child = /"child-pid": (\d+)/.exec(rest)?.[1];
      if (child) job?.onInit(Number(child));
      if (!rest.includes('"exit-code"')) return;
      ran = true;
      job?.onExit();
    },
    D: (rest) => {
      hand(); // without an M it holds what bubblewrap complained about
      finish(Number(rest));
    },
  };
  onLines(status, (line) => onLine[line[0] ?? '']?.(line.slice(2)));
  status.on('close', () => {
    dead = true;
    clearTimeout(giveUp);
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
    execute(next) {
      job = next;
      ran = false;
      for (const handle of handles) handle.ref();
      pending = openPipes(open, next.stdin);
      gate = open('gate', constants.O_RDWR);
      let text = '';
      if (!sameWords(profile, next.profile)) {
        text = `p() { exec ${shWords([options.bwrap, ...next.profile])} "$@"; }\n`;
        profile = next.profile;
      }
      // A program may open its stdin again by name, which would block on a named pipe that has no writer any more;
      // so `cat` makes it a nameless one. Being the last of its pipeline, bubblewrap is still a child of this shell.
      const shared = (name: string) => shWord(join(scratch, 'share', name));
      const single = next.single ? ` 6<${shared('single')}` : '';
      const program = `p ${shWords(next.words)} 7>&3 8<gate 9<${shared('seccomp')}${single}`;
      const fed = next.stdin ? `{ cat 3>&- | ${program}; } <in` : `(${program}) </dev/null`;
      text += `${fed} >out 2>err; echo "D $?" >&3\n`;
      commands.write(text);
    },
    kill: () => void quietly(() => process.kill(pid, 'SIGKILL')),
  };
  keeper.tell(`slot ${id} ${shWords(cgroup?.folders ?? [])}`);
  commands.write('echo "R $$" >&3\n');
  return ready;
}

/** A shell starts within milliseconds; a machine that needs this long has other troubles. */
const OPENING_MS = 10_000;

interface OpenPipes {
  streams(): SlotStreams;
  drop(): void;
}

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
