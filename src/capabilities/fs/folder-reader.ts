// Owns: what is in a folder, remembered for as long as the folder says that nothing came or went.
// Refuses: to remember where a file system may not tell, and what changed a moment ago.
import { type BigIntStats, type Dirent, fstatSync, statfsSync } from 'node:fs';
import { type PinnedFolder, readFolder } from './child-folder.ts';

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
