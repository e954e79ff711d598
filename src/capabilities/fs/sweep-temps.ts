// Owns: removing what a process that died left on its way into or out of place.
// Refuses: what a living process may still need.
import { lstatSync } from 'node:fs';
import { locate } from './beneath.ts';
import { purge, readFolder } from './folder-reader.ts';
import { isTempName, makeRoots, makerOf, release } from './root.ts';

/** What was made where this process cannot look is left alone for this long. */
const UNKNOWN_AGE_MS = 24 * 60 * 60 * 1000;

/**
 * Sweeps these folders (not those below them) and answers how many leftovers are gone. After a crash these are the
 * folders, and the folders above them, of the changes that were intended; see `foldersOf`.
 */
export async function sweepTemps(
  workspace: string,
  folders: Iterable<string>,
  now = Date.now(),
): Promise<number> {
  const root = makeRoots(workspace);
  let gone = 0;
  for (const rel of folders) {
    try {
      gone += await sweepFolder(root, rel, now);
    } catch {
      // The folder is gone or not ours to change: nothing of ours is lost by leaving it.
    }
  }
  return gone;
}

/** The folders in which changes of these paths may have left something: each one's own and all above it. */
export function foldersOf(paths: Iterable<string>): Set<string> {
  const folders = new Set(['.']);
  for (const path of paths) {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
      folders.add(path.slice(0, at));
  }
  return folders;
}

async function sweepFolder(root: ReturnType<typeof makeRoots>, rel: string, now: number): Promise<number> {
  const folder = locate(root, rel, 'sweep');
  let gone = 0;
  try {
    for (const { name } of readFolder(folder) ?? []) {
      if (!isTempName(name) || !isLeftOver(`${folder.path}/${name}`, name, now)) continue;
      await purge(folder, name);
      gone++;
    }
  } finally {
    release(folder);
  }
  return gone;
}

function isLeftOver(path: string, name: string, now: number): boolean {
  const maker = makerOf(name);
  if (maker !== 'unknown') return maker === 'dead';
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && now - stat.ctimeMs > UNKNOWN_AGE_MS;
}
