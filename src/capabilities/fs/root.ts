// Owns: a directory that paths may lie below, and how places beneath it are named.
// Refuses: to resolve its own links; a root is given already resolved.
import { closeSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { followLinks } from '../../base/follow-links.ts';
import { O_PATH } from './open-flags.ts';

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
