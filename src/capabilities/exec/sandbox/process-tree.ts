// Owns: what /proc tells about a sandbox's processes from outside: who they are, what they have used, and the files without a name
// that they hold, or that are held where nobody can look: by a process that does not let itself be looked at, in a message on its
// way, or only in memory.
// Refuses: certainty. Processes come and go while it reads; what is gone counts as nothing.
import { readdirSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { ignoreErrors } from '../../../base/ignore-errors.ts';

/** A process and all of its descendants. Whoever loses its parent inside becomes a child of the first process. */
export function descendants(root: number): number[] {
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

export interface TreeUse {
  /** Processes and threads. */
  readonly tasks: number;
  readonly memoryBytes: number;
  readonly cpuMs: number;
}

export function treeUse(pids: readonly number[]): TreeUse {
  let tasks = 0;
  let own = 0;
  let shared = 0;
  let cpuMs = 0;
  for (const pid of pids) {
    const status = ignoreErrors(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
    const number = (key: string) => Number(new RegExp(`^${key}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    tasks += number('Threads');
    // Without files: their pages are the kernel's to take back.
    own += (number('RssAnon') + number('VmSwap')) * 1024;
    shared += number('RssShmem') * 1024;
    cpuMs += cpuTicks(pid) * (1000 / TICKS_PER_SECOND);
  }
  return { tasks, memoryBytes: own + Math.max(shared, memoryFiles(pids)), cpuMs };
}

/** Bytes of files in memory (memfd) that the processes hold: where they are not mapped they are in nobody's share. */
function memoryFiles(pids: readonly number[]): number {
  const found = new Map<number, number>();
  for (const pid of pids) {
    for (const fd of ignoreErrors(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const file = `/proc/${pid}/fd/${fd}`;
      if (!ignoreErrors(() => readlinkSync(file))?.startsWith('/memfd:')) continue;
      const stat = ignoreErrors(() => statSync(file));
      if (stat) found.set(stat.ino, stat.blocks * 512);
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * Bytes that the processes, and the children that they have waited for, caused to be sent to a disk. A child
 * that nobody waits for takes its count with it.
 */
export function bytesWritten(pids: readonly number[]): number {
  let total = 0;
  for (const pid of pids) {
    const io = ignoreErrors(() => readFileSync(`/proc/${pid}/io`, 'utf8')) ?? '';
    total += Number(/^write_bytes: (\d+)/m.exec(io)?.[1] ?? 0);
  }
  return total;
}

/** Its own time, and that of children it has waited for. */
function cpuTicks(pid: number): number {
  const stat = ignoreErrors(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? '';
  const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // a name may hold anything
  return [11, 12, 13, 14].reduce((sum, field) => sum + Number(afterName[field] ?? 0), 0);
}

/** USER_HZ, the same on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;

interface OpenFiles {
  /** Bytes of files on the disk of the folder that have a descriptor and no name. */
  readonly unnamed: number;
  readonly hidden: boolean;
}

export function lookAtOpenFiles(folder: string, pids: readonly number[]): OpenFiles {
  const dev = ignoreErrors(() => statSync(folder))?.dev;
  const found = new Map<number, number>();
  let hidden = false;
  for (const pid of pids) {
    const descriptors = descriptorsOf(pid);
    hidden ||= !descriptors || mapsUnnamed(pid);
    for (const fd of descriptors ?? []) {
      const stat = ignoreErrors(() => statSync(`/proc/${pid}/fd/${fd}`));
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
    const status = ignoreErrors(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
    return /^State:\s*[^ZX\s]/m.test(status) ? undefined : [];
  }
}

/** A socket in which descriptors wait to be taken. */
function carriesDescriptors(pid: number, fd: string): boolean {
  const info = ignoreErrors(() => readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')) ?? '';
  return Number(/^scm_fds:\s*(\d+)/m.exec(info)?.[1] ?? 0) > 0;
}

/** Memory that is written to a file without a name. Libraries that were replaced meanwhile are not written to. */
function mapsUnnamed(pid: number): boolean {
  const maps = ignoreErrors(() => readFileSync(`/proc/${pid}/maps`, 'utf8')) ?? '';
  return /^\S+ .w.s \S+ \S+ \d+ +(?!\/(?:memfd:|dev\/|SYSV)).* \(deleted\)$/m.test(maps);
}
