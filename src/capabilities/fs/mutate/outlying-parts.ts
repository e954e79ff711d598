// Owns: what repositories anywhere in a root take for part of themselves outside of their own folder: hooks, configuration,
// objects, a folder that a `.git` file leads to and that is not there yet, and links on the way to any of it.
// Refuses: to look for every write: only links, and what has a name that git looks for by itself, are worth going through a root.
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fromBytes, toSystem } from '../../../base/byte-path.ts';
import { isUnder } from '../../../base/rel-path.ts';
import { gitFolders, HOOKS } from '../../git-folders.ts';

/** Of a root beside the workspace, as for programs: about a second. */
export const MAX_ENTRIES = 200_000;

const NAMES = new Set([
  ...HOOKS,
  ...['HEAD', 'config', 'config.worktree', 'commondir', 'gitdir', 'packed-refs'],
  // Of objects that others share: git takes these without being told of them.
  ...['alternates', 'http-alternates', 'multi-pack-index', 'packs', 'grafts', 'shallow'],
]);
const LIKE_GIT =
  /gitconfig|^git[._-]|^(?:pack-)?[0-9a-f]{38,}(?:\.|$)|^(?:commit-graph|multi-pack-index)|\.(?:idx|pack|rev|bitmap|midx|mtimes|keep|promisor|graph)$/;

/** Whether git would take a file of this name for a part of a repository by its name alone. */
export const hasGitName = (path: string): boolean => {
  const name = basename(path);
  return NAMES.has(name) || LIKE_GIT.test(name);
};

/** Absolute and real, perhaps not there. Where that cannot be told: why, to follow "and". */
export function outlyingParts(root: string, maxEntries: number): readonly string[] | string {
  const parts = new Set<string>();
  const pending = [root];
  let seen = 0;
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const entries = entriesOf(folder);
    if (!entries)
      return `"${folder}" cannot be read, so that nobody can tell whether a repository in there counts on it; make it readable`;
    seen += entries.length;
    if (seen > maxEntries)
      return `its root has over ${maxEntries} entries, too many to look for a repository that counts on it; name a smaller folder in paths.extra_roots`;
    const names = new Set(entries.map(({ name }) => name));
    const starts = [
      ...(names.has('.git') ? [`${folder}/.git`] : []),
      ...(names.has('HEAD') && (names.has('commondir') || names.has('objects')) ? [folder] : []),
    ];
    // A link to all that is around it says nothing about what is in there.
    for (const start of starts) {
      const { places, links } = gitFolders(start);
      for (const place of places) if (!isUnder(folder, place)) parts.add(place);
      for (const link of links) parts.add(link);
    }
    for (const { name, isFolder } of entries)
      if (isFolder && name !== '.git' && name !== '.haft') pending.push(`${folder}/${name}`);
  }
  return [...parts];
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** Undefined where there is a folder that cannot be read. */
function entriesOf(folder: string): readonly Entry[] | undefined {
  try {
    return readdirSync(toSystem(folder), { withFileTypes: true, encoding: 'buffer' }).map((entry) => ({
      name: fromBytes(entry.name),
      isFolder: entry.isDirectory(),
    }));
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? [] : undefined;
  }
}
