// Owns: the proof that found files were what their paths say while they were searched: no folder on the way had an entry changed.
// Refuses: to trust a path whose folders changed meanwhile; its matches are held against the file itself (see confirm.ts).
import { lstatSync } from 'node:fs';

/** Change times are kept by a clock that ticks at least this often, in milliseconds. */
const TICK = 20;

/**
 * Splits paths (relative to `root`) into those that are certain and those that are not. Links can only have been
 * swapped in by changing an entry of a folder on the way, which leaves a change time that nobody can set back.
 * `since` is when the search began, in milliseconds since 1970.
 */
export function certainPaths(
  root: string,
  paths: Iterable<string>,
  since: number,
): (path: string) => boolean {
  const folders = new Set<string>();
  for (const path of paths) addFolders(path, folders);
  // Children before their parents: a parent swapped to hide a child's change time would itself have changed by the
  // time it is looked at.
  const steady = new Map<string, boolean>();
  for (const folder of [...folders].sort().reverse())
    steady.set(folder, isSteady(root, folder, since - TICK));
  const known = new Map<string, boolean>();
  const isCertain = (folder: string): boolean => {
    const before = known.get(folder);
    if (before !== undefined) return before;
    const certain = steady.get(folder) === true && (folder === '.' || isCertain(folderOf(folder)));
    known.set(folder, certain);
    return certain;
  };
  return (path) => isCertain(folderOf(path));
}

function addFolders(path: string, folders: Set<string>): void {
  for (let folder = folderOf(path); !folders.has(folder); folder = folderOf(folder)) {
    folders.add(folder);
    if (folder === '.') return;
  }
}

function folderOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '.' : path.slice(0, slash);
}

function isSteady(root: string, folder: string, since: number): boolean {
  const stat = lstatSync(folder === '.' ? root : `${root}/${folder}`, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.ctimeMs < since;
}
