// Owns: whether /proc shows the PID namespace that this process is in, and which parts of it are covered.
// Refuses: to work with another one's. There a number names another process: whoever is looked at, or ended, is somebody else.
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { orUndefined } from '../../../base/or-undefined.ts';
import type { SandboxAvailability } from '../../../contract/sandbox.ts';
import { mountTable, parseMounts } from './mounts-below.ts';

/** Undefined where /proc is as it should be. */
export function procProblem(): Extract<SandboxAvailability, { ok: false }> | undefined {
  const self = orUndefined(() => readlinkSync('/proc/self'));
  if (self === undefined && !existsSync('/proc/stat'))
    return { ok: false, reason: '/proc is not mounted', hint: MOUNT };
  const status = orUndefined(() => readFileSync('/proc/self/status', 'latin1')) ?? '';
  // One number for each PID namespace, from that of /proc to that of the process.
  const numbers = /^NSpid:\s*(.*)$/m.exec(status)?.[1]?.trim().split(/\s+/);
  if (self === String(process.pid) && (numbers === undefined || numbers.length === 1)) return undefined;
  return { ok: false, reason: '/proc belongs to another PID namespace', hint: MOUNT };
}

/** What is mounted over parts of /proc; the kernel refuses a new /proc that would show them. */
export const coveredProc = (): readonly string[] =>
  [...new Set(parseMounts(mountTable()).map(({ at }) => at))]
    .filter((at) => at.startsWith('/proc/') && !at.endsWith('/binfmt_misc'))
    .sort();

const MOUNT =
  'Mount the one of this PID namespace: mount -t proc proc /proc; or start it with unshare --pid --fork --mount-proc, or with bwrap --unshare-pid --proc /proc and an ordinary user (--unshare-user --uid 1000 --gid 1000).';
