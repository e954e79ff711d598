// Owns: what /proc tells about a sandbox's processes from outside: who they are and what they have used.
// Refuses: certainty. Processes come and go while it reads; what is gone counts as nothing.
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { orUndefined } from '../../../base/or-undefined.ts';

/** A process and all of its descendants. Whoever loses its parent inside becomes a child of the first process. */
export function descendants(root: number): number[] {
  const found = [root];
  for (let i = 0; i < found.length; i++) {
    for (const thread of orUndefined(() => readdirSync(`/proc/${found[i]}/task`)) ?? []) {
      const children =
        orUndefined(() => readFileSync(`/proc/${found[i]}/task/${thread}/children`, 'utf8')) ?? '';
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
    const status = orUndefined(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
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
    for (const fd of orUndefined(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const file = `/proc/${pid}/fd/${fd}`;
      if (!orUndefined(() => readlinkSync(file))?.startsWith('/memfd:')) continue;
      const stat = orUndefined(() => statSync(file));
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
    const io = orUndefined(() => readFileSync(`/proc/${pid}/io`, 'utf8')) ?? '';
    total += Number(/^write_bytes: (\d+)/m.exec(io)?.[1] ?? 0);
  }
  return total;
}

/** Its own time, and that of children it has waited for. */
function cpuTicks(pid: number): number {
  const stat = orUndefined(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? '';
  const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // a name may hold anything
  return [11, 12, 13, 14].reduce((sum, field) => sum + Number(afterName[field] ?? 0), 0);
}

/** USER_HZ, the same on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
