// Owns: the folder of this machine's user that holds Haft's key and system credentials: never part of a workspace.
// Refuses: one that a workspace's tools could reach, and one that other users can read.
import { chmodSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fail } from '../../contract/errors.ts';
import { configFolder } from '../../contract/own-folders.ts';

export interface MachineSite {
  readonly env: { readonly [name: string]: string | undefined };
  /** The absolute, resolved workspace. */
  readonly workspace: string;
}

/** `$XDG_CONFIG_HOME/haft`, or `~/.config/haft`. It need not be there yet. */
export function findMachineFolder({ env, workspace }: MachineSite): string {
  const folder = configFolder(env);
  if (folder === undefined) {
    throw fail(
      'credentials.key',
      'Cannot find the folder of the key: set HOME, or the key itself in HAFT_KEY',
    );
  }
  // Both are resolved, so that names alone tell.
  const real = resolved(folder);
  if (real === workspace || real.startsWith(workspace === '/' ? '/' : `${workspace}/`)) {
    throw fail(
      'credentials.key',
      'Cannot keep credentials: the folder of the key lies in the workspace, where tools work; set XDG_CONFIG_HOME to a folder outside of it',
    );
  }
  return folder;
}

/** Makes it, for its owner alone. */
export function prepareMachineFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if ((lstatSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

/** Where links lead, of as much of the path as is there. */
function resolved(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolved(parent), path.slice(parent.length));
  }
}
