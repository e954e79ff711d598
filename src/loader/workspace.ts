// Owns: the absolute, resolved folder that a workspace path names, and the workspaces of this user around a path.
// Refuses: what is not a folder, all of the machine, and what is Haft's own.
import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { foldersUp } from '../base/rel-path.ts';
import { fail } from '../contract/errors.ts';
import { findOwnFolders } from './find-own-folders.ts';
import { isWithin } from './is-within.ts';

/** The folder that was named, or the nearest one upwards that has haft.yaml or .haft; else the current one. */
export function findWorkspace(given: string | undefined): string {
  if (given !== undefined) return findFolder(given);
  const start = realFolder('.');
  const found = foldersUp(start).find(isWorkspace);
  return found === undefined || found === start ? start : findFolder(found);
}

export const hasState = (workspace: string): boolean => existsSync(join(workspace, '.haft'));

/** Somebody made it one; any other folder can be used as one all the same. */
export const isWorkspace = (folder: string): boolean =>
  existsSync(join(folder, 'haft.yaml')) || hasState(folder);

export function findFolder(given: string): string {
  const real = realFolder(given);
  if (findOwnFolders().folders.some((folder) => isWithin(real, folder)))
    throw fail('usage', `Cannot use workspace ${given}: Haft keeps its own there, which no tool may touch`);
  return real;
}

/** The same for who only looks for it: whether it is Haft's own is asked by whoever opens it. */
function realFolder(given: string): string {
  let real: string;
  try {
    real = realpathSync.native(given);
  } catch {
    throw fail(
      'usage',
      `Cannot use workspace ${given}: there is no such folder; create it first, or name another`,
    );
  }
  if (!statSync(real).isDirectory())
    throw fail('usage', `Cannot use workspace ${given}: it is not a folder; name the folder that it is in`);
  if (real === '/')
    throw fail('usage', `Cannot use workspace ${given}: it is the whole machine; name a folder in it`);
  return real;
}

/** Nearest first. `path` is absolute and resolved. */
export const workspacesAround = (path: string): readonly string[] =>
  foldersUp(path).filter((folder) => isOurs(`${folder}/.haft`) && isOurs(`${folder}/.haft/haft.db`));

/** A link leads to what may be somebody else's. */
function isOurs(path: string): boolean {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat !== undefined && !stat.isSymbolicLink() && stat.uid === process.geteuid?.();
  } catch {
    return false;
  }
}
