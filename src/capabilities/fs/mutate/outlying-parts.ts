// Owns: what repositories anywhere in a root take for part of themselves outside of their own folder: hooks, configuration,
// objects, a folder that a `.git` file leads to and that is not there yet.
// Refuses: to look for every write: only what has a name that git looks for by itself is worth going through a root.
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fromBytes, toSystem } from '../../../base/byte-path.ts';
import { isUnder } from '../../../base/rel-path.ts';
import { gitFolders, HOOKS } from '../../git-folders.ts';

/** Of a root beside the workspace, as for programs: about a second. */
export const MAX_ENTRIES = 200_000;

const NAMES = new Set([
  ...HOOKS,
  ...['HEAD', 'config', 'config.worktree', 'commondir', 'gitdir', 'alternates', 'packed-refs'],
]);
const LIKE_GIT = /gitconfig|^git[._-]|^(?:pack-)?[0-9a-f]{38,}(?:\.|$)/;

/** Whether git would take a file of this name for a part of a repository by its name alone. */
export const hasGitName = (path: string): boolean => {
  const name = basename(path);
  return NAMES.has(name) || LIKE_GIT.test(name);
};

/** Absolute and real, perhaps not there; undefined where the root is too large to say. */
export function outlyingParts(root: string, maxEntries: number): readonly string[] | undefined {
  const parts = new Set<string>();
  const pending = [root];
  let seen = 0;
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const entries = entriesOf(folder);
    seen += entries.length;
    if (seen > maxEntries) return undefined;
    const names = new Set(entries.map(({ name }) => name));
    const starts = [
      ...(names.has('.git') ? [`${folder}/.git`] : []),
      ...(names.has('HEAD') && (names.has('commondir') || names.has('objects')) ? [folder] : []),
    ];
    // A link to all that is around it says nothing about what is in there.
    for (const start of starts)
      for (const place of gitFolders(start).places) if (!isUnder(folder, place)) parts.add(place);
    for (const { name, isFolder } of entries)
      if (isFolder && name !== '.git' && name !== '.haft') pending.push(`${folder}/${name}`);
  }
  return [...parts];
}

function entriesOf(folder: string): readonly { readonly name: string; readonly isFolder: boolean }[] {
  try {
    return readdirSync(toSystem(folder), { withFileTypes: true, encoding: 'buffer' }).map((entry) => ({
      name: fromBytes(entry.name),
      isFolder: entry.isDirectory(),
    }));
  } catch {
    return [];
  }
}
