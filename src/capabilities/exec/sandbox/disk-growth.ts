// Owns: noticing that a program fills the disk though no process is charged for it: what children wrote that nobody
// waited for is in no count of /proc (tried: 800 MB under a limit of 32), nor is what was only set aside (fallocate).
// Refuses: to blame a program for what others write: lost space only makes it look at the program's own files.
import { statfsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { orUndefined } from '../../../base/or-undefined.ts';
import { lookAtOpenFiles } from './open-files.ts';
import { changedSince } from './written-since.ts';

export interface DiskGrowth {
  /** Looks at the space that is left and, where too much is gone, at the files of these processes, a slice at a time. */
  look(pids: readonly number[]): Promise<void>;
  end(): void;
}

/** File times come from a clock that only ticks every few milliseconds. */
const TICK_MS = 20;
/** How long the host may be kept from everything else. */
const SLICE_MS = 10;
/** Files come and go while they are counted, so one count is not the last word; it costs a twentieth of the time. */
const REST = 20;

/** `onOver` is told once: files changed since then, with or without a name, take more than the limit. */
export function watchDisk(folder: string, limit: number, onOver: () => void): DiskGrowth {
  const since = Date.now() - TICK_MS;
  let most = freeBytes(folder) ?? 0;
  let others = 0;
  let again = 0;
  let busy = false;
  let ended = false;

  const isOver = async (pids: readonly number[], lost: number): Promise<boolean> => {
    const open = lookAtOpenFiles(folder, pids);
    let own = open.unnamed;
    let { hidden } = open;
    let until = performance.now() + SLICE_MS;
    for (const found of changedSince(folder, since)) {
      own += found.bytes;
      hidden ||= found.hidden;
      if (own > limit) return true;
      if (performance.now() < until) continue;
      await nextTurn();
      if (ended) return false;
      until = performance.now() + SLICE_MS;
    }
    // Whoever keeps files where nobody can count them answers for what is gone since the last count.
    if (hidden && lost - others > limit) return true;
    others = lost - own;
    return false;
  };

  return {
    async look(pids) {
      const free = freeBytes(folder);
      if (free === undefined || busy || ended) return;
      most = Math.max(most, free);
      const lost = most - free;
      const started = performance.now();
      if (lost <= limit || (lost - others <= limit && started < again)) return;
      busy = true;
      if (await isOver(pids, lost)) return onOver();
      again = performance.now() + REST * (performance.now() - started);
      busy = false;
    },
    end() {
      ended = true;
    },
  };
}

function freeBytes(folder: string): number | undefined {
  const found = orUndefined(() => statfsSync(folder));
  return found && found.bfree * found.bsize;
}
