// Owns: a word from one process of a workspace to those that live beside it: look again at the packs.
// Refuses: to say what changed: whoever hears it reads the truth, and a lost word costs a restart and nothing else.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { watchFiles } from './watch-files.ts';

const FILE = 'packs';

/** Not the state folder itself: there every recorded call would wake the listener. */
const folderOf = (workspace: string) => join(workspace, '.haft', 'notices');

/** Nobody listens where there is no such folder. */
export function tellPacksChanged(workspace: string): void {
  try {
    writeFileSync(join(folderOf(workspace), FILE), `${Date.now()}\n`, { mode: 0o600 });
  } catch {
    // Nobody listens, or nobody can be told.
  }
}

/** Answers the function that ends it. */
export function onPacksChanged(workspace: string, changed: () => void): () => void {
  try {
    mkdirSync(folderOf(workspace), { recursive: true, mode: 0o700 });
  } catch {
    return () => {};
  }
  return watchFiles(folderOf(workspace), [FILE], changed);
}
