// Owns: the files without a name that processes hold: how much space they take, and whether some are held where
// nobody can look: by a process that does not let itself be looked at, in a message on its way, or only in memory.
// Refuses: to say what is in them.
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { orUndefined } from '../../../base/or-undefined.ts';

export interface OpenFiles {
  /** Bytes of files on the disk of the folder that have a descriptor and no name. */
  readonly unnamed: number;
  readonly hidden: boolean;
}

export function lookAtOpenFiles(folder: string, pids: readonly number[]): OpenFiles {
  const dev = orUndefined(() => statSync(folder))?.dev;
  const found = new Map<number, number>();
  let hidden = false;
  for (const pid of pids) {
    const descriptors = descriptorsOf(pid);
    hidden ||= !descriptors || mapsUnnamed(pid);
    for (const fd of descriptors ?? []) {
      const stat = orUndefined(() => statSync(`/proc/${pid}/fd/${fd}`));
      if (!stat) continue;
      if (isUnnamed(stat) && stat.dev === dev) found.set(stat.ino, stat.blocks * 512);
      if (stat.isSocket()) hidden ||= carriesDescriptors(pid, fd);
    }
  }
  const unnamed = [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
  return { unnamed, hidden };
}

const isUnnamed = (stat: Stats): boolean => stat.isFile() && stat.nlink === 0;

/** None of a process that is gone; undefined of one that lets nobody see them (PR_SET_DUMPABLE). */
function descriptorsOf(pid: number): readonly string[] | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EACCES') return [];
    const status = orUndefined(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
    return /^State:\s*[^ZX\s]/m.test(status) ? undefined : [];
  }
}

/** A socket in which descriptors wait to be taken. */
function carriesDescriptors(pid: number, fd: string): boolean {
  const info = orUndefined(() => readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')) ?? '';
  return Number(/^scm_fds:\s*(\d+)/m.exec(info)?.[1] ?? 0) > 0;
}

/** Memory that is written to a file without a name. Libraries that were replaced meanwhile are not written to. */
function mapsUnnamed(pid: number): boolean {
  const maps = orUndefined(() => readFileSync(`/proc/${pid}/maps`, 'utf8')) ?? '';
  return /^\S+ .w.s \S+ \S+ \d+ +(?!\/(?:memfd:|dev\/|SYSV)).* \(deleted\)$/m.test(maps);
}
