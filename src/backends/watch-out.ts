// Owns: noticing while an attempt runs that out/ holds more than there is room for, or that its disk is full.
// Refuses: to end anything itself, and to hold a moment against an attempt: what it may leave is looked at when it has ended.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { ignoreErrors } from '../base/ignore-errors.ts';
import { type OutputProblem, outEntries, overLimit } from './check-outputs.ts';

interface OutWatch {
  /** Whether the disk was full at some look; the last look is now. */
  stop(): Promise<{ readonly diskFull: boolean }>;
}

interface WatchSettings {
  readonly out: string;
  readonly outputBytes: number;
  onOver(problem: OutputProblem): void;
  /** The first process of the container, as this machine counts; asked only when the disk loses more than the attempt shows. */
  initPid?(): Promise<number | undefined>;
}

const LOOK_EVERY_MS = 100;
/** Looking at very many files may take no more than a fourth of the time. */
const REST = 3;
const MAX_REST_MS = 400;
/** Less than this is full: file systems keep some blocks for themselves. */
const FULL_BYTES = 64 * 1024;

/**
 * How much out/ may hold while a program runs. A look now and then sees some moments and not others, so that nothing may
 * depend on one: below this only the end counts, and beyond it a program is ended to spare the disk.
 */
export const roomFor = (outputBytes: number): number => 2 * outputBytes + 64 * 1024 * 1024;

export function watchOut({ out, outputBytes, onOver, initPid }: WatchSettings): OutWatch {
  let timer: NodeJS.Timeout | undefined;
  let diskFull = false;
  let told = false;
  let stopped = false;
  let most = 0;
  const lookAtDisk = async () => {
    const disk = await statfs(out).catch(() => undefined);
    if (!disk) return 0;
    const free = disk.bavail * disk.bsize;
    diskFull ||= free < FULL_BYTES;
    most = Math.max(most, free);
    return most - free;
  };
  const look = async () => {
    const started = performance.now();
    const lost = await lookAtDisk();
    let problem = await measured(out, outputBytes);
    // Others write to the disk as well: what is gone only makes it worth to look at what has no name.
    if (!problem && lost > roomFor(outputBytes)) {
      const pid = await initPid?.();
      if (pid) problem = overRoom(unnamedBytes(out, pid), 0, outputBytes);
    }
    if (problem && !told && !stopped) {
      told = true;
      onOver(problem);
    }
    const took = performance.now() - started;
    if (!stopped) timer = setTimeout(again, Math.max(LOOK_EVERY_MS, Math.min(MAX_REST_MS, took * REST)));
  };
  let looking: Promise<void> = Promise.resolve();
  const again = () => {
    looking = look();
  };
  timer = setTimeout(again, LOOK_EVERY_MS);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await looking;
      await lookAtDisk();
      return { diskFull };
    },
  };
}

async function measured(out: string, limit: number): Promise<OutputProblem | undefined> {
  let bytes = 0;
  let entries = 0;
  for await (const entry of outEntries(out)) {
    // File systems set space aside for files that grow; there is room for that.
    bytes += Math.max(entry.bytes, entry.taken);
    entries++;
    const problem = overRoom(bytes, entries, limit);
    if (problem) return problem;
  }
  return undefined;
}

const overRoom = (bytes: number, entries: number, limit: number): OutputProblem | undefined =>
  overLimit(bytes > roomFor(limit) ? bytes : 0, entries, limit);

/** Bytes of nameless files on the disk of `folder` that the process and its descendants have open. */
export function unnamedBytes(folder: string, initPid: number): number {
  const disk = ignoreErrors(() => statSync(folder).dev);
  const found = new Map<number, number>();
  for (const pid of descendants(initPid)) {
    for (const fd of ignoreErrors(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const file = ignoreErrors(() => statSync(`/proc/${pid}/fd/${fd}`));
      if (file?.isFile() && file.nlink === 0 && file.dev === disk) found.set(file.ino, file.blocks * 512);
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Whoever loses its parent in a container becomes a child of its first process. */
function descendants(root: number): number[] {
  const found = [root];
  for (let i = 0; i < found.length; i++) {
    for (const thread of ignoreErrors(() => readdirSync(`/proc/${found[i]}/task`)) ?? []) {
      const children =
        ignoreErrors(() => readFileSync(`/proc/${found[i]}/task/${thread}/children`, 'utf8')) ?? '';
      for (const child of children.split(' ')) if (child) found.push(Number(child));
    }
  }
  return found;
}
