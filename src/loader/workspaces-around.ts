// Owns: the folders above and at a path that are workspaces of this user: they have state.
// Refuses: to open it, and a stranger's.
import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';

/** Nearest first. `path` is absolute and resolved. */
export function workspacesAround(path: string): readonly string[] {
  const found: string[] = [];
  for (let folder = path; ; folder = dirname(folder)) {
    if (isOurs(`${folder}/.haft`) && isOurs(`${folder}/.haft/haft.db`)) found.push(folder);
    if (dirname(folder) === folder) return found;
  }
}

/** A link leads to what may be somebody else's. */
function isOurs(path: string): boolean {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat !== undefined && !stat.isSymbolicLink() && stat.uid === process.geteuid?.();
  } catch {
    return false;
  }
}
