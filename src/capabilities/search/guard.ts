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
  const folderOf = createFolderOf();
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = folderOf(path); !folders.has(folder); folder = parentOf(folder)) folders.add(folder);
  }
  // Children before their parents: a parent swapped to hide a child's change time would itself have changed by the
  // time it is looked at.
  const unsteady = [...folders]
    .sort()
    .reverse()
    .filter((folder) => !isSteady(root, folder, since - TICK));
  if (unsteady.length === 0) return () => true;
  const suspects = new Set(unsteady);
  return (path) => {
    for (let folder = folderOf(path); ; folder = parentOf(folder)) {
      if (suspects.has(folder)) return false;
      if (folder === '.') return true;
    }
  };
}

/** Paths come in order, so that most lie in the folder of the one before. */
function createFolderOf(): (path: string) => string {
  let last = '.';
  return (path) => {
    const { length } = last;
    if (path.charCodeAt(length) === SLASH && path.startsWith(last) && path.lastIndexOf('/') === length)
      return last;
    last = parentOf(path);
    return last;
  };
}

const SLASH = 47;

function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '.' : path.slice(0, slash);
}

function isSteady(root: string, folder: string, since: number): boolean {
  const stat = lstatSync(folder === '.' ? root : `${root}/${folder}`, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.ctimeMs < since;
}
