// Owns: a directory that paths may lie below, and a place beneath it: how it is named, what a path that a caller gives means by its
// names, what it means that it was found and pinned, and the failures of places, with how an error of the operating system
// becomes one. The flags with which files are opened, and the names of files on their way into or out of place.
// Refuses: to resolve its own links (a root is given already resolved), to find a place (beneath) or to read it (read-file), and
// to repeat the system's own message, which may name a path outside of the workspace.
import { type BigIntStats, closeSync, constants, openSync, readFileSync, readlinkSync } from 'node:fs';
import { followLinks } from '../../base/follow-links.ts';
import { normalizeRelPath } from '../../base/rel-path.ts';
import type { CallScope } from '../../contract/capability.ts';
import { type Failure, fail, isFailure, type Reason } from '../../contract/errors.ts';

/** Linux: a descriptor that only marks a place. Opening it has no effect, not even on a device or a FIFO. */
export const O_PATH = process.platform === 'linux' ? 0o10000000 : 0;
/** Absent on Windows. */
export const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
export const O_DIRECTORY = constants.O_DIRECTORY ?? 0;
/** So that nothing that is opened can make the process wait. */
export const O_NONBLOCK = constants.O_NONBLOCK ?? 0;

/**
 * `exact`: the kernel tells where an open descriptor really is (Linux with /proc), so what is opened is what is
 * checked. Without it links are resolved before and after opening: a weaker promise against a link swapped meanwhile.
 */
export interface Root {
  readonly path: string;
  /** What absolute paths beneath begin with: `path` and a slash. */
  readonly prefix: string;
  /** Beside the workspace: places beneath are named by their absolute path. */
  readonly extra: boolean;
  readonly exact: boolean;
  /** What the kernel tells of a descriptor on the mount that holds the root, where it does. */
  readonly mountLine: string | undefined;
  /** All roots of the workspace, this one among them: a link may lead from one to another. */
  readonly all: readonly Root[];
}

/** A normalised path beneath a root; '.' is the root itself. */
export interface Place {
  readonly root: Root;
  readonly rel: string;
}

/**
 * The workspace and the roots beside it, each absolute and free of links. `exact: false` asks for the weaker way
 * where the better one could be had.
 */
export function makeRoots(workspace: string, extra: readonly string[] = [], exact = true): Root {
  const all: Root[] = [];
  for (const path of [workspace, ...extra]) {
    const mountLine = exact && process.platform === 'linux' ? probeMount(path) : undefined;
    all.push({
      path,
      prefix: path.endsWith('/') ? path : `${path}/`,
      extra: all.length > 0,
      exact: mountLine !== undefined,
      mountLine: mountLine || undefined,
      all,
    });
  }
  return all[0]!;
}

/** The absolute path of a normalised relative one; '.' is the root itself. */
export function absolute(root: Root, rel: string): string {
  return rel === '.' ? root.path : root.prefix + rel;
}

/** Which root an absolute path lies beneath: `root` itself if it can be, else the innermost; undefined outside of all. */
export function placeOf(root: Root, path: string): Place | undefined {
  const rel = relative(root, path);
  if (rel !== undefined) return { root, rel };
  let best: Place | undefined;
  for (const other of root.all) {
    const rel = relative(other, path);
    if (rel !== undefined && (!best || other.path.length > best.root.path.length))
      best = { root: other, rel };
  }
  return best;
}

/**
 * Where names and links lead from `root`, whether or not anything is there: undefined if out of every root, even if only on
 * the way; 'circle' if nowhere. By names alone, so it proves nothing about what is opened.
 */
export function whereLinksLead(root: Root, rel: string): Place | 'circle' | undefined {
  const roots = root.all.map(({ path }) => path);
  const led = followLinks(absolute(root, rel), roots, readlinkSync);
  return led === undefined ? 'circle' : placeOf(root, led);
}

function relative(root: Root, path: string): string | undefined {
  if (path === root.path) return '.';
  return path.startsWith(root.prefix) ? path.slice(root.prefix.length) : undefined;
}

/** How callers, effects and messages name a place: relative in the workspace, absolute beside it. */
export function nameOf(root: Root, rel: string): string {
  return root.extra ? absolute(root, rel) : rel;
}

/**
 * False when the descriptor lies on a mount of another namespace: there the kernel tells a path as *that* namespace
 * sees it (`/proc/<pid>/root/app/x` reads as `/app/x`), which proves nothing here.
 */
export function isOnOurMount(root: Root, fd: number): boolean {
  if (root.mountLine === undefined) return true;
  const info = descriptorInfo(fd);
  return info.includes(root.mountLine) || mountsOfThisProcess().has(mountLineIn(info));
}

/** Undefined when /proc does not tell about descriptors; empty when it does not tell the mount. */
function probeMount(path: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, O_PATH);
    return mountLineIn(descriptorInfo(fd));
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function descriptorInfo(fd: number): string {
  return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
}

/** The line that tells the mount, with its end, so that 2 is not found in 24. */
function mountLineIn(info: string): string {
  return /^mnt_id:\t\d+\n/m.exec(info)?.[0] ?? '';
}

function mountsOfThisProcess(): Set<string> {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return new Set(lines.map((line) => `mnt_id:\t${line.slice(0, line.indexOf(' '))}\n`));
}

/** `path` reaches exactly this thing, and `path/child` exactly its children, until `release`. */
export interface Located {
  readonly root: Root;
  /** Where it really is, after links; '.' is the root itself. */
  readonly rel: string;
  readonly stat: BigIntStats;
  readonly path: string;
  /** -1 where places are known by name only. */
  readonly fd: number;
}

/** Whether a link in the last component is followed, or is itself the place that is meant. */
export type LastLink = 'follow' | 'keep';

export function release(found: Located): void {
  if (found.fd >= 0) closeSync(found.fd);
}

export type EntryType = 'file' | 'dir' | 'link' | 'other';

export function typeOf(stat: BigIntStats): EntryType {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'dir';
  return stat.isSymbolicLink() ? 'link' : 'other';
}

/** Permission bits, with set-user-id and the like. */
export function modeOf(stat: BigIntStats): number {
  return Number(stat.mode & 0o7777n);
}

export function ownerIn(stat: BigIntStats): { readonly uid: number; readonly gid: number } {
  return { uid: Number(stat.uid), gid: Number(stat.gid) };
}

export function sameThing(a: BigIntStats, b: BigIntStats | undefined): boolean {
  return b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

const PREFIX = '.haft-tmp-';

/** Makes names that no other process makes: they say which process of which machine state made them. */
export function createTempNames(pid: number = process.pid): () => string {
  let owner: string | undefined;
  let count = 0;
  return () => {
    owner ??= ownerOf(pid) ?? `${pid}-0-0`;
    return `${PREFIX}${owner}-${(count++).toString(36)}-${random()}`;
  };
}

export function isTempName(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** True when a path, or a part of it, is on its way into or out of place. */
export function hasTempName(rel: string): boolean {
  return rel.includes(PREFIX) && rel.split('/').some(isTempName);
}

/**
 * `alive`: the process that made it still runs. `dead`: it does not. `unknown`: it ran where this process cannot look
 * (another process namespace, or a system without /proc).
 */
export function makerOf(name: string): 'alive' | 'dead' | 'unknown' {
  const [pid, started, namespace] = name.slice(PREFIX.length).split('-');
  if (!pid || !/^\d+$/.test(pid) || !namespace || namespace !== namespaceNumber()) return 'unknown';
  return ownerOf(Number(pid)) === `${pid}-${started}-${namespace}` ? 'alive' : 'dead';
}

/** A process number alone comes round again; with its start time it does not. */
function ownerOf(pid: number): string | undefined {
  const namespace = namespaceNumber();
  if (!namespace) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
    return `${pid}-${started}-${namespace}`;
  } catch {
    return undefined;
  }
}

function namespaceNumber(): string | undefined {
  try {
    return /\[(\d+)\]/.exec(readlinkSync('/proc/self/ns/pid'))?.[1];
  } catch {
    return undefined;
  }
}

function random(): string {
  return Math.random().toString(36).slice(2, 8);
}

/** What effects call a path that may lie below another root; nearly all are relative, and are what they are. */
export function spellingOf(scope: Pick<CallScope, 'place'>, path: string): string {
  return path.startsWith('/') || path.includes('..') ? scope.place(path) : path;
}

/** By its names alone. The same spelling as effects use, so that what is declared can be compared. */
export function toPlace(root: Root, path: string, verb: string): Place {
  const isAbsolute = path.startsWith('/');
  const normal = normalizeRelPath(isAbsolute ? path.replace(/^\/+/, '') || '.' : path);
  if (!normal.ok)
    throw fail(normal.reason, normal.message.replace('Cannot use the path', `Cannot ${verb} the path`));
  const place = isAbsolute
    ? placeOf(root, normal.path === '.' ? '/' : `/${normal.path}`)
    : { root, rel: normal.path };
  if (!place) throw fail('path.outside_workspace', `Cannot ${verb} the path: it is outside of the workspace`);
  refuseTemp(place, verb);
  return place;
}

/** What is staged or put aside belongs to the call that does it, whatever it is a copy of. */
export function refuseTemp(place: Place, verb: string): void {
  if (!hasTempName(place.rel)) return;
  throw fail('path.protected', `${cannot({ ...place, verb })}: it is a file on its way into or out of place`);
}

/** The last component. */
export function nameIn(rel: string): string {
  return rel.slice(rel.lastIndexOf('/') + 1);
}

/** What a failed access was about: `verb` is the first word of the message. */
export interface Attempt {
  readonly root: Root;
  readonly rel: string;
  readonly verb: string;
}

export function outside(attempt: Attempt): Failure {
  return fail(
    'path.outside_workspace',
    `${cannot(attempt)}: a link on the way leads outside of the workspace`,
  );
}

export function raced(attempt: Attempt): Failure {
  return fail('path.raced', `${cannot(attempt)}: it kept changing meanwhile`);
}

export function notAFile(attempt: Attempt, isDirectory: boolean): Failure {
  return isDirectory
    ? fail('path.is_directory', `${cannot(attempt)}: it is a directory`)
    : fail('path.not_regular', `${cannot(attempt)}: it is neither a regular file nor a directory`);
}

/** `Cannot read "src/lib.rs"` */
export function cannot({ root, rel, verb }: Attempt): string {
  return `Cannot ${verb} "${nameOf(root, rel)}"`;
}

/** A failure passes through as it is. */
export function osFailure(thrown: unknown, attempt: Attempt): Failure {
  if (isFailure(thrown)) return thrown;
  const errno = errnoOf(thrown);
  const [reason, fact] = FACTS[errno] ?? ['file.io', `the operating system reports ${errno}`];
  return fail(reason, `${cannot(attempt)}: ${fact}`, { errno });
}

/** The symbolic error number, `ENOENT`; `unknown` for what is no system error. */
export function errnoOf(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' ? code : 'unknown';
}

const FACTS: { readonly [errno: string]: readonly [Reason, string] } = {
  ENOENT: ['path.not_found', 'no such file or folder'],
  ENOTDIR: ['path.not_directory', 'a part of the path is not a directory'],
  EISDIR: ['path.is_directory', 'it is a directory'],
  EEXIST: ['path.exists', 'something is already there'],
  ENOTEMPTY: ['path.not_empty', 'the directory is not empty'],
  ELOOP: ['path.invalid', 'its links lead in a circle'],
  ENAMETOOLONG: ['path.invalid', 'the name is too long'],
  EINVAL: ['path.invalid', 'the operating system does not take this path'],
  EILSEQ: ['path.invalid', 'the file system does not take this name'],
  ERR_INVALID_ARG_VALUE: ['path.invalid', 'the path has a NUL byte'],
  EACCES: ['path.denied_by_os', 'the operating system denies it'],
  EPERM: ['path.denied_by_os', 'the operating system denies it'],
  EBUSY: ['path.denied_by_os', 'the operating system is using it'],
  ETXTBSY: ['path.denied_by_os', 'it is a program that is running'],
  ENXIO: ['path.not_regular', 'it is neither a regular file nor a directory'],
  ENOSPC: ['file.no_space', 'the disk is full'],
  EDQUOT: ['file.no_space', 'the disk quota is used up'],
  EFBIG: ['file.no_space', 'the file system does not take a file of this size'],
  EROFS: ['file.read_only', 'the file system is read-only'],
  EXDEV: ['file.io', 'source and destination lie on different file systems'],
  EMFILE: ['file.io', 'too many files are open'],
  ENFILE: ['file.io', 'too many files are open'],
  EIO: ['file.io', 'the disk reports an error'],
};
