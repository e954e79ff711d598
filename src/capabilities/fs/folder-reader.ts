// Owns: going down one folder at a time without ever following a link: what is in a folder, remembered for as long as it says that
// nothing came or went; everything below one, with a fingerprint of it all; and removing a tree that was put aside.
// Refuses: to say why a child cannot be entered (to its callers it is simply not there), to remember where a file system may not
// tell or what changed a moment ago, and to take a tree for whole when a part of it cannot be read.
import type { BigIntStats, Dirent } from 'node:fs';
import {
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statfsSync,
} from 'node:fs';
import { chmod, rmdir, unlink } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { sha256Hex } from '../../base/digest.ts';
import { type EntryType, errnoOf, isTempName, O_DIRECTORY, O_NOFOLLOW, O_PATH, typeOf } from './root.ts';

/** A folder that somebody else pinned, and what it was then. */
export interface HeldFolder {
  readonly fd: number;
  readonly stat: BigIntStats;
}

/** Undefined when it cannot be read. */
export type FolderReader = (folder: PinnedFolder, held?: HeldFolder) => readonly Dirent[] | undefined;

interface Remembered {
  readonly ctimeNs: bigint;
  readonly entries: readonly Dirent[];
}

/** Entries of all folders together. */
const MOST_ENTRIES = 40_000;
/** A folder may change twice within a tick of the file system's clock: what is younger than this is read again. */
const SETTLED_MS = 100;

/** File systems of this machine alone: every entry that comes or goes changes the folder's time. From linux/magic.h. */
const TELLING = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630]);

export function createFolderReader(): FolderReader {
  const known = new Map<string, Remembered>();
  const telling = new Map<bigint, boolean>();
  let kept = 0;

  const drop = (key: string) => {
    kept -= known.get(key)?.entries.length ?? 0;
    known.delete(key);
  };

  const tells = (folder: PinnedFolder, { dev }: BigIntStats): boolean => {
    const answer = telling.get(dev) ?? TELLING.has(statfsSync(folder.path).type);
    telling.set(dev, answer);
    return answer;
  };

  const remember = (key: string, { ctimeNs }: BigIntStats, entries: readonly Dirent[]) => {
    if (entries.length > MOST_ENTRIES) return;
    known.set(key, { ctimeNs, entries });
    kept += entries.length;
    for (const oldest of known.keys()) {
      if (kept <= MOST_ENTRIES) return;
      drop(oldest);
    }
  };

  return (folder, held) => {
    const fd = held?.fd ?? folder.fd;
    // Where folders are known by name only, nothing tells what was read.
    if (fd < 0) return readFolder(folder);
    const stat = held?.stat ?? fstatSync(fd, { bigint: true });
    const key = `${stat.dev}:${stat.ino}`;
    const seen = known.get(key);
    if (seen && seen.ctimeNs === stat.ctimeNs) return seen.entries;
    drop(key);
    const entries = readFolder(folder);
    if (entries && Date.now() - Number(stat.ctimeMs) > SETTLED_MS && tells(folder, stat))
      remember(key, stat, entries);
    return entries;
  };
}

/** `path` reaches exactly this folder, and `path/name` its children, until it is left. */
export interface PinnedFolder {
  readonly path: string;
  /** -1 where folders are known by name only, or where somebody else pins this one. */
  readonly fd: number;
}

/** Undefined when the child is no folder (any more), or cannot be opened. */
export function enterFolder(parent: PinnedFolder, name: string): PinnedFolder | undefined {
  const path = `${parent.path}/${name}`;
  try {
    if (!isPinned(parent)) return lstatSync(path).isDirectory() ? { path, fd: -1 } : undefined;
    const fd = openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    return { path: `${DESCRIPTORS}${fd}`, fd };
  } catch {
    return undefined;
  }
}

export function leaveFolder(folder: PinnedFolder): void {
  if (folder.fd >= 0) closeSync(folder.fd);
}

/** Undefined when it cannot be read, or where only names are known and it is somewhere else by now. */
export function readFolder(folder: PinnedFolder): Dirent[] | undefined {
  try {
    const entries = readdirSync(folder.path, { withFileTypes: true });
    return isPinned(folder) || realpathSync.native(folder.path) === folder.path ? entries : undefined;
  } catch {
    return undefined;
  }
}

const DESCRIPTORS = '/proc/self/fd/';

function isPinned(folder: PinnedFolder): boolean {
  return folder.path.startsWith(DESCRIPTORS);
}

export interface TreeEntry {
  /** From the top folder, which is not among the entries. */
  readonly rel: string;
  readonly type: EntryType;
  readonly stat: BigIntStats;
  /** Of a link. */
  readonly target?: string;
}

const SLICE = 10;

/** Parents before their children, in bytewise order, without the names that `skips`. Throws what the system throws. */
export async function treeEntries(
  top: PinnedFolder,
  signal?: AbortSignal,
  skips: (name: string) => boolean = () => false,
): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  let pause = Date.now() + SLICE;

  const visit = async (folder: PinnedFolder, prefix: string): Promise<void> => {
    const names = readFolder(folder);
    if (!names) throw Object.assign(new Error('unreadable'), { code: 'EACCES' });
    for (const { name } of names) {
      if (isTempName(name) || skips(name)) continue;
      const path = `${folder.path}/${name}`;
      const rel = prefix + name;
      const stat = lstatSync(path, { bigint: true });
      const type = typeOf(stat);
      entries.push(type === 'link' ? { rel, type, stat, target: readlinkSync(path) } : { rel, type, stat });
      if (type !== 'dir') continue;
      const child = enterFolder(folder, name);
      if (!child) throw Object.assign(new Error('unreadable'), { code: 'EACCES' });
      try {
        await visit(child, `${rel}/`);
      } finally {
        leaveFolder(child);
      }
    }
    if (Date.now() > pause) {
      await setImmediate();
      signal?.throwIfAborted();
      pause = Date.now() + SLICE;
    }
  };

  await visit({ path: top.path, fd: -1 }, '');
  return entries.sort((a, b) => Buffer.compare(Buffer.from(a.rel), Buffer.from(b.rel)));
}

/** Equal as long as nobody touched the tree: names, types, sizes, modes, inode numbers and times of change. */
export function fingerprint(entries: readonly TreeEntry[]): string {
  const lines = entries.map(({ rel, type, stat, target }) => {
    const size = type === 'dir' ? 0n : stat.size;
    return [rel, type, size, stat.mode, stat.ino, stat.mtimeNs, target ?? ''].join('\0');
  });
  return sha256Hex(lines.join('\0\0'));
}

/** Removes `name` and all below it. What is gone already is fine; other errors of the system are thrown. */
export async function purge(parent: PinnedFolder, name: string): Promise<void> {
  const path = `${parent.path}/${name}`;
  const errno = await unlink(path).then(() => undefined, errnoOf);
  if (errno === undefined || errno === 'ENOENT') return;
  const folder = enterFolder(parent, name);
  if (!folder) throw Object.assign(new Error('cannot be removed'), { code: errno });
  try {
    // What was put aside is about to go: its own permissions need not stand in the way.
    if (process.getuid?.() !== 0) await chmod(folder.path, 0o700).catch(() => undefined);
    for (const entry of readFolder(folder) ?? []) await purge(folder, entry.name);
  } finally {
    leaveFolder(folder);
  }
  await rmdir(path);
}
