// Owns: the process table, looked at once: what the files of /proc say about each process, what it uses, most first, and its arguments
// as one line that can be shown: secrets unreadable, not too long.
// Refuses: to read more of a process than is needed to tell whether it is shown, and to fail for one that is gone.
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { REDACTED } from '../../base/redact/automaton.ts';
import { createRedactor, type Redactor } from '../../base/redact/create-redactor.ts';
import { isSecretKey } from '../../base/redact/secret-keys.ts';
import type { ProcessInfo, ProcessListing, ProcessQuery } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';

/** Milliseconds after which others get their turn. */
const SLICE = 10;

interface Seen {
  readonly stat: ProcStat;
  readonly cpu: number;
  readonly ageMs: number;
}

export async function listProcesses(
  { wants, limit }: ProcessQuery,
  signal: AbortSignal,
): Promise<ProcessListing> {
  const breathe = createPauses(signal);
  const seen: Seen[] = [];
  for (const pid of idsOrRefuse()) {
    const stat = readStat(pid);
    if (stat) seen.push(measured(stat));
    await breathe();
  }
  seen.sort((a, b) => b.cpu - a.cpu || a.stat.pid - b.stat.pid);

  const redactor = createRedactor();
  const users = userNames();
  const processes: ProcessInfo[] = [];
  let total = 0;
  for (const one of seen) {
    if (!wants && processes.length === limit) {
      total++;
      continue;
    }
    const args = readArguments(one.stat.pid);
    const cmd = args && commandLine(args, one.stat.name, redactor);
    await breathe();
    if (cmd === undefined || (wants && !wants(cmd))) continue;
    if (processes.length === limit) {
      total++;
      continue;
    }
    const status = readStatus(one.stat.pid);
    if (!status) continue;
    total++;
    processes.push({
      pid: one.stat.pid,
      ppid: one.stat.ppid,
      cmd,
      cpu: one.cpu,
      memMb: Math.round((status.rssKib / 1024) * 10) / 10,
      user: users.get(status.uid) ?? status.uid,
      startedMs: Math.round(Date.now() - one.ageMs),
    });
  }
  return { processes, total };
}

function idsOrRefuse(): number[] {
  try {
    return processIds();
  } catch {
    throw fail('tool.failed', 'Cannot list processes: this system has no /proc to read them from');
  }
}

/** Of one that has only just started, a tick is the least that its age can be. */
function measured(stat: ProcStat): Seen {
  const age = Math.max(uptime() - stat.startTicks / TICKS, 1 / TICKS);
  return { stat, cpu: Math.round((stat.cpuTicks / TICKS / age) * 1000) / 10, ageMs: age * 1000 };
}

function createPauses(signal: AbortSignal): () => Promise<void> | undefined {
  let next = Date.now() + SLICE;
  return () => {
    if (Date.now() <= next) return undefined;
    return setImmediate().then(() => {
      signal.throwIfAborted();
      next = Date.now() + SLICE;
    });
  };
}

const MAX_SHOWN = 4096;

/** `name` is shown in brackets where there are no arguments. */
export function commandLine(args: readonly string[], name: string, redactor: Redactor): string {
  if (args.length === 0) return `[${name}]`;
  // An argument is known to be one here; in the line that they make up, one with blanks in it would be several.
  const shown = args.map((arg, at) => withoutSecret(arg, args[at - 1]));
  const line = redactor.text(shown.join(' '));
  return line.length <= MAX_SHOWN ? line : `${line.slice(0, MAX_SHOWN - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Of `--api-key abc`, `-u ada:abc`, `--api-key=abc`, `DB_PASSWORD=abc` and `X-Api-Key: abc` the value is the secret. */
function withoutSecret(arg: string, before = ''): string {
  const flag = /^--?([A-Za-z][\w-]*)$/.exec(before)?.[1] ?? '';
  if (isSecretName(flag)) return REDACTED;
  const user = /^(?:u|user|proxy-user)$/.test(flag) ? /^([^:]*:)./s.exec(arg) : null;
  if (user) return `${user[1]}${REDACTED}`;
  const found = /^((?:--?)?([A-Za-z_][\w-]*)(?:=|:\s*))\S/s.exec(arg);
  return found && isSecretName(found[2]!) ? `${found[1]}${REDACTED}` : arg;
}

const isSecretName = (name: string): boolean =>
  isSecretKey(name) || /(?:^|[-_])(?:pass|cookie|authorization)$/i.test(name);

/** From /proc/<pid>/stat. */
interface ProcStat {
  readonly pid: number;
  readonly ppid: number;
  readonly name: string;
  /** Processor time, and the time it started (since the machine did), in clock ticks. */
  readonly cpuTicks: number;
  readonly startTicks: number;
}

/** From /proc/<pid>/status. */
interface ProcStatus {
  readonly uid: string;
  readonly rssKib: number;
}

/** Ticks a second; the kernel shows all times in /proc as if its clock had this rate. */
const TICKS = 100;

const MAX_CMDLINE = 64 * 1024;

/** The ids of all processes, in no particular order. Throws where there is no /proc. */
function processIds(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** Seconds since the machine started. */
function uptime(): number {
  return Number.parseFloat(readFileSync('/proc/uptime', 'latin1'));
}

function readStat(pid: number): ProcStat | undefined {
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

function readStatus(pid: number): ProcStatus | undefined {
  const text = read(`/proc/${pid}/status`)?.toString('latin1');
  // A process that is ending has a name and no more.
  const uid = text && /^Uid:\t\d+\t(\d+)/m.exec(text)?.[1];
  if (!uid) return undefined;
  return { uid, rssKib: Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) };
}

/** The arguments; empty where a process has no command line. */
function readArguments(pid: number): readonly string[] | undefined {
  const bytes = read(`/proc/${pid}/cmdline`, MAX_CMDLINE);
  if (!bytes) return undefined;
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end === 0 ? [] : bytes.toString('utf8', 0, end).split('\0');
}

/** Names of users by their numbers, as far as /etc/passwd knows them. */
function userNames(): ReadonlyMap<string, string> {
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
