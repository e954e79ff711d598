// Owns: the name of a running process that no later process can have again, and whether its bearer still runs.
// Refuses: to look beyond this machine and this process table; a holder elsewhere cannot be told from a dead one.
import { readFileSync } from 'node:fs';
import { ignoreErrors } from '../base/ignore-errors.ts';

/** `pid:starttime:bootid` on Linux; the last two are empty where there is no /proc. */
export function processIdentity(pid: number = process.pid): string {
  return `${pid}:${readStat(pid)?.startTime ?? ''}:${bootId()}`;
}

/** A zombie counts as dead: it can neither write nor let go of anything. */
export function isAlive(identity: string): boolean {
  const [pidText = '', startTime, boot] = identity.split(':');
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  if (boot === '') return answersSignals(pid);
  if (boot !== bootId()) return false;
  const stat = readStat(pid);
  return stat !== undefined && stat.startTime === startTime && !ENDED.has(stat.state);
}

const ENDED: ReadonlySet<string> = new Set(['Z', 'X', 'x']);

/** The start time in clock ticks since boot: together with the pid and the boot it is never given out twice. */
function readStat(pid: number): { readonly state: string; readonly startTime: string } | undefined {
  const text = readProc(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', startTime: fields[19] ?? '' };
}

function bootId(): string {
  return readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
}

const readProc = (path: string): string | undefined => ignoreErrors(() => readFileSync(path, 'utf8'));

/** Weaker than the above, since a pid is given out again: a dead holder may look alive for a while. */
function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}
