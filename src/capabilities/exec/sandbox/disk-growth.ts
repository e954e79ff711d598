// Owns: noticing that a program fills the disk though no process is charged for it: what children wrote that nobody
// waited for is in no count of /proc (tried: 800 MB under a limit of 32).
// Refuses: to blame a program for what others write: lost space only makes it look at the program's own files.
import { type Dirent, lstatSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { quietly } from './quietly.ts';

export interface DiskGrowth {
  /** Whether the files that were changed since it began, named or held open by these processes, take more than the limit. */
  isOver(pids: readonly number[]): boolean;
}

/** File times come from a clock that only ticks every few milliseconds. */
const TICK_MS = 20;

export function watchDisk(folder: string, limit: number): DiskGrowth {
  const since = Date.now() - TICK_MS;
  const before = freeBytes(folder);
  let others = 0;
  return {
    isOver(pids) {
      const lost = before - freeBytes(folder);
      if (!(lost - others > limit)) return false;
      const own = namedSince(folder, since, limit) + unnamed(folder, pids);
      if (own > limit) return true;
      others = lost - own; // somebody else's, and no reason to look again
      return false;
    },
  };
}

function freeBytes(folder: string): number {
  const { bfree, bsize } = quietly(() => statfsSync(folder)) ?? { bfree: 0, bsize: 0 };
  return bfree * bsize;
}

/** Bytes of files that were changed since then; stops counting beyond `enough`. Haft's own are not the program's. */
function namedSince(folder: string, since: number, enough: number): number {
  let total = 0;
  const folders = [folder];
  for (let at = folders.pop(); at !== undefined && total <= enough; at = folders.pop()) {
    for (const entry of entriesOf(at)) {
      const path = join(at, entry.name);
      if (entry.isDirectory() && path !== join(folder, '.haft')) folders.push(path);
      if (!entry.isFile()) continue;
      const stat = quietly(() => lstatSync(path));
      if (stat && stat.ctimeMs >= since) total += stat.blocks * 512;
    }
  }
  return total;
}

/** Bytes of files without a name that these processes hold open. */
function unnamed(folder: string, pids: readonly number[]): number {
  const { dev } = statSync(folder);
  const found = new Map<number, number>();
  for (const pid of pids) {
    for (const fd of quietly(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const stat = quietly(() => statSync(`/proc/${pid}/fd/${fd}`));
      if (stat?.isFile() && stat.nlink === 0 && stat.dev === dev) found.set(stat.ino, stat.blocks * 512);
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

const entriesOf = (folder: string): Dirent[] =>
  quietly(() => readdirSync(folder, { withFileTypes: true })) ?? [];
