// Owns: what the files of /proc say about one process, parsed.
// Refuses: to fail for a process that is gone: that is undefined.
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';

/** From /proc/<pid>/stat. */
export interface ProcStat {
  readonly pid: number;
  readonly ppid: number;
  readonly name: string;
  /** Processor time, and the time it started (since the machine did), in clock ticks. */
  readonly cpuTicks: number;
  readonly startTicks: number;
}

/** From /proc/<pid>/status. */
export interface ProcStatus {
  readonly uid: string;
  readonly rssKib: number;
}

/** Ticks a second; the kernel shows all times in /proc as if its clock had this rate. */
export const TICKS = 100;

const MAX_CMDLINE = 64 * 1024;

/** The ids of all processes, in no particular order. Throws where there is no /proc. */
export function processIds(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** Seconds since the machine started. */
export function uptime(): number {
  return Number.parseFloat(readFileSync('/proc/uptime', 'latin1'));
}

export function readStat(pid: number): ProcStat | undefined {
  const text = read(`/proc/${pid}/stat`)?.toString('utf8');
  return text === undefined ? undefined : parseStat(text);
}

/** The second field is the program's name in parentheses, and may itself hold blanks, line breaks and parentheses. */
export function parseStat(text: string): ProcStat | undefined {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open < 0 || close < open) return undefined;
  const fields = text.slice(close + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3]);
  const stat = {
    pid: Number.parseInt(text, 10),
    ppid: field(4),
    name: text.slice(open + 1, close),
    cpuTicks: field(14) + field(15),
    startTicks: field(22),
  };
  return Number.isNaN(stat.cpuTicks + stat.startTicks + stat.pid) ? undefined : stat;
}

export function readStatus(pid: number): ProcStatus | undefined {
  const text = read(`/proc/${pid}/status`)?.toString('latin1');
  // A process that is ending has a name and no more.
  const uid = text && /^Uid:\t\d+\t(\d+)/m.exec(text)?.[1];
  if (!uid) return undefined;
  return { uid, rssKib: Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) };
}

/** The arguments; empty where a process has no command line. */
export function readArguments(pid: number): readonly string[] | undefined {
  const bytes = read(`/proc/${pid}/cmdline`, MAX_CMDLINE);
  if (!bytes) return undefined;
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end === 0 ? [] : bytes.toString('utf8', 0, end).split('\0');
}

/** Names of users by their numbers, as far as /etc/passwd knows them. */
export function userNames(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const line of (read('/etc/passwd', 1024 * 1024)?.toString('utf8') ?? '').split('\n')) {
    const [name, , uid] = line.split(':');
    if (name && uid && !names.has(uid)) names.set(uid, name);
  }
  return names;
}

function read(path: string, max = 16 * 1024): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const pieces: Buffer[] = [];
    let room = max;
    while (room > 0) {
      const piece = Buffer.allocUnsafe(Math.min(room, 4096));
      const length = readSync(fd, piece, 0, piece.length, null);
      if (length === 0) break;
      pieces.push(piece.subarray(0, length));
      room -= length;
      // Files of /proc fill what they are given while there is more.
      if (length < piece.length) break;
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  } catch {
    return undefined; // it ended meanwhile, or is not ours to see
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
