// Owns: what a slot is given to run, what it hands out for it, and one sandbox that it has laid out.
// Refuses: to run anything; `slot` does.
import { closeSync, constants } from 'node:fs';
import { Socket } from 'node:net';
import { shWords } from '../../../base/shell/shell-quote.ts';

export interface SlotJob {
  /** The words after `bwrap`: those that rarely change, then those around this program, then its own. */
  readonly profile: readonly string[];
  readonly setting: readonly string[];
  readonly argv: readonly string[];
  /** Whether `profile` takes `single-process` from descriptor 6. */
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
export interface Layout {
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
export type Likeness = Pick<SlotJob, 'profile' | 'setting' | 'single' | 'mountsSeen' | 'stdin'>;

export const alike = (a: Likeness, b: Likeness): boolean =>
  !a.stdin &&
  !b.stdin &&
  a.single === b.single &&
  a.mountsSeen === b.mountsSeen &&
  sameWords(a.profile, b.profile) &&
  sameWords(a.setting, b.setting);

/** The gate takes one short line of ASCII: it is read byte by byte, and some shells keep bytes beyond for themselves. */
export const fitsTheGate = (argv: readonly string[]): boolean => {
  const line = shWords(argv);
  return line.length <= 1024 && /^[\x20-\x7e]*$/.test(line);
};

export interface OpenPipes {
  streams(): SlotStreams;
  drop(): void;
}

/** `open`: one of the slot's named pipes, without waiting for its other end. */
export function openPipes(open: (name: string, mode: number) => number, withStdin: boolean): OpenPipes {
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

export const sameWords = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a === b || (a?.length === b.length && b.every((word, i) => word === a[i]));
