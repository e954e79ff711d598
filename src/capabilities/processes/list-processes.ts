// Owns: the process table, looked at once: what each process uses, most first.
// Refuses: to read more of a process than is needed to tell whether it is shown.
import { setImmediate } from 'node:timers/promises';
import { createRedactor } from '../../base/redact/create-redactor.ts';
import type { ProcessInfo, ProcessListing, ProcessQuery } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import { commandLine } from './command-line.ts';
import {
  type ProcStat,
  processIds,
  readArguments,
  readStat,
  readStatus,
  TICKS,
  uptime,
  userNames,
} from './proc-files.ts';

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
