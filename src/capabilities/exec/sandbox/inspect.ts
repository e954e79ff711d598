// Owns: looking at a sandbox after it was set up and before its program begins, and comparing it with what is promised; which
// mounts there are in a folder, as a process sees them, so that two views of it can be compared.
// Refuses: to believe the command line, which is what was asked for: /proc is what was got. A path that was a folder when
// it was checked may be a link by the time it is mounted; what counts is what is there now.
import type { BigIntStats } from 'node:fs';
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { isWithin } from '../../../base/rel-path.ts';
import type { SandboxObservation } from '../../../contract/sandbox.ts';
import { INSIDE_HOME } from './system-paths.ts';

export interface Inspection {
  readonly seen: SeenInside | undefined;
  /** What is not as promised, in words. */
  readonly fault: string | undefined;
}

export type SeenInside = Omit<SandboxObservation, 'identity' | 'uid' | 'limitsBy'>;

/** What must be found at a path inside. */
export interface ExpectedMount {
  readonly at: string;
  /** From `idOfChecked` or `entryId`; undefined where only the access matters. */
  readonly id: string | undefined;
  readonly writable: boolean;
}

export function inspect(
  pid: number,
  expected: readonly ExpectedMount[],
  cwd: Pick<ExpectedMount, 'at' | 'id'>,
): Inspection {
  const seen = ignoreErrors(() => lookAround(pid));
  if (!seen) return { seen: undefined, fault: 'it cannot be looked at' };
  const { mounts, ...rest } = seen;
  const access = new Map(expected.map(({ at, writable }) => [at, writable]));
  // What is mounted in a folder that is granted comes along with it.
  const granted = (at: string): boolean => access.get(at) ?? (at !== '/' && granted(dirname(at)));
  const observed = {
    ...rest,
    writableMounts: [...mounts].filter(([at, rw]) => rw && !granted(at)).map(([at]) => at),
  };
  const fault = faultOf(observed) ?? mountFault(pid, mounts, expected);
  if (fault !== undefined) return { seen: observed, fault };
  const moved = cwd.id !== undefined && entryId(`/proc/${pid}/cwd`) !== cwd.id;
  return { seen: observed, fault: moved ? `"${cwd.at}" is not what it was` : undefined };
}

/** Tells entries of a file system apart. */
export function entryId(path: string): string | undefined {
  const stat = ignoreErrors(() => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return stat && idOf(stat);
}

/**
 * The id of what is at this very path, for something that was checked there before. Where a link or nothing is there by
 * now, one that nothing has: an id that is taken through a link would be that of whatever the link leads to.
 */
export function idOfChecked(path: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
    return readlinkSync(`/proc/self/fd/${fd}`) === path ? idOf(fstatSync(fd, { bigint: true })) : MOVED;
  } catch {
    return MOVED;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

const MOVED = 'moved';
const idOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`;

function lookAround(pid: number) {
  const status = new Map<string, string>();
  for (const line of readFileSync(`/proc/${pid}/status`, 'latin1').split('\n')) {
    const colon = line.indexOf(':');
    status.set(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return {
    capabilities: Object.fromEntries(CAPABILITY_SETS.map((set) => [set, status.get(set) ?? ''])),
    noNewPrivileges: status.get('NoNewPrivs') === '1',
    seccomp: Number(status.get('Seccomp')),
    interfaces: interfacesOf(readFileSync(`/proc/${pid}/net/dev`, 'latin1')),
    mounts: mountsOf(readFileSync(`/proc/${pid}/mountinfo`, 'utf8')),
  };
}

const interfacesOf = (text: string): string[] =>
  text.split('\n').flatMap((line) => /^\s*([^\s:|]+):/.exec(line)?.[1] ?? []);

/** Mount point → whether it can be written. A later mount covers an earlier one, and all that is mounted below that. */
function mountsOf(text: string): Map<string, boolean> {
  const all = parseMounts(text);
  const on = new Map<string, Set<string>>();
  for (const { id, parent, at } of all)
    if (id !== parent) on.set(parent, (on.get(parent) ?? new Set()).add(at));
  const parents = new Map(all.map((mount) => [mount.id, mount]));
  const covered = new Map<string, boolean>();
  const isCovered = ({ id, parent, at }: Mount): boolean => {
    const known = covered.get(id);
    if (known !== undefined) return known;
    covered.set(id, false);
    const beside = on.get(parent) ?? new Set();
    const below = parents.get(parent);
    let is = below !== undefined && isCovered(below);
    for (let up = at; !is && up !== '/'; ) {
      up = dirname(up);
      is = beside.has(up) && up !== at;
    }
    covered.set(id, is);
    return is;
  };
  return new Map(all.filter((mount) => !isCovered(mount)).map(({ at, writable }) => [at, writable]));
}

function faultOf(seen: SeenInside): string | undefined {
  const loud = Object.entries(seen.capabilities).filter(([, bits]) => !/^0+$/.test(bits));
  if (loud.length > 0)
    return `capabilities are left: ${loud.map(([set, bits]) => `${set} ${bits}`).join(', ')}`;
  if (!seen.noNewPrivileges) return 'no_new_privs is not set';
  if (seen.seccomp !== 2) return 'no system call filter is in force';
  if (seen.interfaces.some((name) => name !== 'lo'))
    return `there are interfaces: ${seen.interfaces.join(', ')}`;
  const odd = seen.writableMounts.filter((at) => !PRIVATE.has(at) && !at.startsWith('/dev/'));
  return odd.length > 0 ? `these can be written: ${odd.join(', ')}` : undefined;
}

function mountFault(
  pid: number,
  mounts: ReadonlyMap<string, boolean>,
  expected: readonly ExpectedMount[],
): string | undefined {
  for (const { at, id, writable } of expected) {
    if (mounts.get(at) !== writable) return `"${at}" is not mounted as it should be`;
    if (id !== undefined && entryId(`/proc/${pid}/root${at}`) !== id) return `"${at}" is not what it was`;
  }
  return undefined;
}

const CAPABILITY_SETS = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'];
/** Beside the devices below /dev that anybody may use, and /dev/shm. */
const PRIVATE: ReadonlySet<string> = new Set(['/tmp', INSIDE_HOME]);

/** As this process sees all mounts; other text means that something was mounted or unmounted. */
export const mountTable = (): string =>
  ignoreErrors(() => readFileSync('/proc/self/mountinfo', 'utf8')) ?? '';

/** Everything mounted in this folder, and what the folder itself lies on, one line each; equal for equal views. */
export function mountsBelow(path: string, table = mountTable()): string {
  const on = ignoreErrors(() => mountIdOf(path));
  return on === undefined ? '' : describe(parseMounts(table), on, path);
}

/** The same, in another process, of a folder that is a mount there. */
export function mountsAt(pid: number, path: string): string {
  const mounts = parseMounts(ignoreErrors(() => readFileSync(`/proc/${pid}/mountinfo`, 'utf8')) ?? '');
  const on = mounts.findLast(({ at }) => at === path);
  return on ? describe(mounts, on.id, path) : '';
}

/** A text that changes with the mounts in these folders; read again only when something was mounted or unmounted. */
export function rememberMounts(): (paths: readonly string[]) => string {
  let table = '';
  const known = new Map<string, string>();
  return (paths) => {
    const now = mountTable();
    if (now !== table) known.clear();
    table = now;
    for (const path of paths) if (!known.has(path)) known.set(path, mountsBelow(path, now));
    return paths.map((path) => known.get(path)).join('\n');
  };
}

interface Mount {
  readonly id: string;
  readonly parent: string;
  readonly device: string;
  /** What of the device is mounted. */
  readonly root: string;
  readonly at: string;
  readonly writable: boolean;
}

/** Linux, where alone there are sandboxes: a descriptor that only marks a place. */
const O_PATH = 0o10000000;

export function parseMounts(table: string): Mount[] {
  return table.split('\n').flatMap((line) => {
    const [id, parent, device, root, at, options] = line.split(' ');
    return id && parent && device && root && at && options
      ? [{ id, parent, device, root: unescaped(root), at: unescaped(at), writable: /^rw\b/.test(options) }]
      : [];
  });
}

/** The table tells bytes that would disturb it by their numbers. */
const unescaped = (text: string): string =>
  text.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));

function describe(mounts: readonly Mount[], on: string, path: string): string {
  const lines = [mounts.find(({ id }) => id === on)?.device ?? ''];
  const visit = (parent: string): void => {
    for (const mount of mounts) {
      if (mount.parent !== parent || mount.id === parent || !isWithin(mount.at, path)) continue;
      lines.push(JSON.stringify([mount.at.slice(path.length), mount.device, mount.root]));
      visit(mount.id);
    }
  };
  visit(on);
  return lines.sort().join('\n');
}

function mountIdOf(path: string): string | undefined {
  const fd = openSync(path, O_PATH);
  try {
    return /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
  } finally {
    closeSync(fd);
  }
}
