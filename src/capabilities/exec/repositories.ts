// Owns: finding the repositories below the workspace, whose `.git` programs may read and never write, as the file tools.
// Refuses: to look again for every program: what a program clones is its own.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { joinRel } from '../../base/rel-path.ts';

/** Packages come with thousands of folders, and without repositories. */
const SKIPPED: ReadonlySet<string> = new Set(['.git', '.haft', 'node_modules']);

/** Every `.git` below the root's own, a folder or a file that leads to one, relative to the root. */
export function findRepositories(root: string): string[] {
  const found: string[] = [];
  const folders = ['.'];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const entry of entriesOf(join(root, at))) {
      const path = joinRel(at, entry.name);
      if (entry.name === '.git' && at !== '.' && !entry.isSymbolicLink()) found.push(path);
      else if (entry.isDirectory() && !SKIPPED.has(entry.name)) folders.push(path);
    }
  }
  return found.sort();
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
