// Owns: the folders above a workspace that have a haft.yaml, and whether this user owns it.
// Refuses: to read one, and to say whether it holds.
import { lstatSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { foldersUp } from '../../base/rel-path.ts';

export interface OuterFolder {
  readonly folder: string;
  /** The file, and where it is a link what that leads to. */
  readonly owned: boolean;
}

/** Nearest first. `workspace` is absolute and resolved. */
export function outerFolders(workspace: string): readonly OuterFolder[] {
  return foldersUp(dirname(workspace)).flatMap((folder) => {
    const file = join(folder, 'haft.yaml');
    const link = look(lstatSync, file);
    if (!link) return [];
    const user = process.geteuid?.();
    return [{ folder, owned: link.uid === user && look(statSync, file)?.uid === user }];
  });
}

/** What cannot be looked at is not this user's. */
function look(stat: typeof statSync, path: string) {
  try {
    return stat(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
