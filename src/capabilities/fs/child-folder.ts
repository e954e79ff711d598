// Owns: going down one folder at a time without ever following a link.
// Refuses: to say why a child cannot be entered; to its callers it is simply not there.
import { closeSync, type Dirent, lstatSync, openSync, readdirSync, realpathSync } from 'node:fs';
import { O_DIRECTORY, O_NOFOLLOW, O_PATH } from './open-flags.ts';

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
