// Owns: which places belong to a repository or to another workspace below, as only the disk can tell: the folder that a `.git` file
// leads to has any name, so have files that a configuration includes, hooks and objects elsewhere, links on the way to any of it,
// and a pack is a folder like others.
// Refuses: to decide by name; policy does that (policy/protected-paths.ts). To go through a root for every write: only links,
// and what has a name that git looks for by itself, are worth it.
import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { fromBytes, toSystem } from '../../../base/byte-path.ts';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { once } from '../../../base/once.ts';
import { packWords } from '../../../base/pack-words.ts';
import { isUnder, parentOf } from '../../../base/rel-path.ts';
import { fail } from '../../../contract/errors.ts';
import { createFenceLook, holdsOwnState } from '../../fences-in-use.ts';
import { gitFolders, HOOKS, partsFromAbove, readText } from '../../git-folders.ts';
import { cannot } from '../path-failures.ts';
import { absolute, type Place } from '../root.ts';

export interface ProtectedPlaces {
  /**
   * Throws `path.protected` where changing this place would change a repository, or a pack of a workspace below, and
   * `lock.busy` where a program that runs now is kept from this very thing. `isLeaf`:
   * a file, or nothing yet, is there, so that nothing is in it.
   */
  refuse(place: Place, verb: string, isLeaf: boolean): void;
  /** Throws `path.protected` where a link in this place would stand for a part of a repository, or be on the way to one. */
  refuseLink(place: Place, verb: string): void;
}

/** For each mutation of a workspace one. Those that are planned in the same turn of the event loop look into a folder once. */
export function createProtectedPlaces(
  isAlive?: (process: string) => boolean,
): (workspace: string) => ProtectedPlaces {
  const look = perTurn(lookInto);
  const fromAbove = perTurn((root) => {
    const { places, links } = partsFromAbove(root);
    return [...places, ...links];
  });
  const hasOwnState = perTurn(holdsOwnState);
  return (workspace) =>
    protectedIn(workspace, createFenceLook(workspace, isAlive, hasOwnState), { look, fromAbove });
}

/** What `find` answers for a path, asked once in a turn of the event loop. */
function perTurn<T>(find: (path: string) => T): (path: string) => T {
  const found = new Map<string, T>();
  return (path) => {
    if (found.has(path)) return found.get(path)!;
    if (found.size === 0) setImmediate(() => found.clear());
    const value = find(path);
    found.set(path, value);
    return value;
  };
}

interface Looks {
  look(path: string): Folder;
  /** What a repository above this root takes from below it, and links on the way there. */
  fromAbove(root: string): readonly string[];
}

function protectedIn(
  workspace: string,
  inUse: (path: string) => boolean,
  { look, fromAbove }: Looks,
): ProtectedPlaces {
  /** By root. */
  const outlying = new Map<string, ReturnType<typeof outlyingParts>>();
  const partsIn = (root: string) => {
    const known =
      outlying.get(root) ?? outlyingParts(root, root === workspace ? Number.POSITIVE_INFINITY : MAX_ENTRIES);
    outlying.set(root, known);
    return known;
  };
  /** Repositories around a path are looked at below; what others lay claim to only a look through the roots can tell. */
  const refuseOutlying = (place: Place, real: string, verb: string, link?: 'is' | 'becomes'): void => {
    if (!link && !hasGitName(real)) return;
    for (const root of new Set([workspace, absolute(place.root, '.')])) {
      const parts = partsIn(root);
      if (typeof parts === 'string')
        throw owned(
          place,
          verb,
          'protected:.git',
          `${link ? 'a link may lead git to parts of a repository' : 'git looks for files of that name'}, and ${parts}`,
        );
      if (parts.some((part) => isUnder(real, part) || (link === 'becomes' && isUnder(part, real))))
        throw owned(
          place,
          verb,
          'protected:.git',
          'a git repository elsewhere takes it for a part of itself; only git tools write there',
        );
    }
  };
  /** What the mutation may make, absolute. */
  const planned = new Set<string>();
  const becomesRepository = (path: string, { hasHead }: Folder) =>
    (hasHead || planned.has(`${path}/HEAD`)) &&
    hasRest(path, (part) => typeOf(part) ?? (planned.has(part) ? 'file' : undefined));
  return {
    refuseLink: (place, verb) => refuseOutlying(place, absolute(place.root, place.rel), verb, 'becomes'),
    refuse(place, verb, isLeaf) {
      const { root, rel } = place;
      const real = absolute(root, rel);
      if (inUse(real))
        throw fail(
          'lock.busy',
          `${cannot({ ...place, verb })}: a program is running that is kept from it, and could reach what takes its place; try again when the program has ended`,
        );
      refuseOutlying(place, real, verb, !isLeaf && isLink(real) ? 'is' : undefined);
      for (let at = rel; ; at = parentOf(at)) {
        const path = absolute(root, at);
        const folder = isLeaf && at === rel ? LEAF : look(path);
        const { isRepository, git, packs } = folder;
        planned.add(path);
        // The workspace's own packs are policy's to name, and what it is itself is the user's to say.
        const isWorkspace = at === '.' && !root.extra;
        if ((isRepository && !isWorkspace) || (!isRepository && becomesRepository(path, folder)))
          throw owned(
            place,
            verb,
            'protected:.git',
            isRepository
              ? 'it belongs to a git repository; only git tools write there'
              : 'git would take the folder around it for a repository; only git tools make one',
          );
        const parts = at === '.' ? [...git, ...fromAbove(path)] : git;
        if (path !== real && parts.some((one) => isUnder(real, one) || isUnder(one, real)))
          throw owned(
            place,
            verb,
            'protected:.git',
            'a git repository reads or runs what is there, or is led through it; only git tools change it',
          );
        if (isWorkspace) return;
        if (packs().some((pack) => isUnder(real, pack)))
          throw owned(
            place,
            verb,
            'protected:packs',
            'it is a pack of a workspace below; packs are read-only to tools',
          );
        if (at === '.') return;
      }
    },
  };
}

interface Folder {
  readonly hasHead: boolean;
  readonly isRepository: boolean;
  /** What belongs to the repository of the `.git` in it, and links on the way there: absolute, perhaps not there yet. */
  readonly git: readonly string[];
  /** What the haft.yaml in it may name as packs: absolute and real; all of it where that cannot be told. Read only where it counts. */
  readonly packs: () => readonly string[];
}

function lookInto(path: string): Folder {
  const hasHead = typeOf(`${path}/HEAD`) !== undefined;
  return {
    hasHead,
    isRepository: hasHead && hasRest(path, typeOf),
    git: gitPlaces(path),
    packs: once(() => packsOf(path)),
  };
}

const LEAF: Folder = { hasHead: false, isRepository: false, git: [], packs: () => [] };

/** What git wants beside a HEAD: objects and refs of its own or those of another. */
function hasRest(folder: string, type: typeof typeOf): boolean {
  return (
    type(`${folder}/commondir`) === 'file' ||
    (type(`${folder}/objects`) !== undefined && type(`${folder}/refs`) !== undefined)
  );
}

function gitPlaces(folder: string): string[] {
  const entry = `${folder}/.git`;
  if (typeOf(entry) === undefined) return [];
  // A link in it that leads to all of the folder says nothing about what is in there.
  const { places, links } = gitFolders(entry);
  return [...places.filter((place) => !isUnder(folder, place)), ...links];
}

function packsOf(folder: string): string[] {
  const file = `${folder}/haft.yaml`;
  if (typeOf(file) === undefined) return [];
  const text = readText(file);
  const words = text === undefined ? undefined : packWords(text);
  if (!words) return [folder];
  return words.flatMap((word) => {
    const path = ignoreErrors(() => realpathSync.native(resolve(folder, word)));
    return path === undefined || isUnder(folder, path) ? [] : [path];
  });
}

const isLink = (path: string): boolean =>
  ignoreErrors(() => lstatSync(path, { throwIfNoEntry: false }))?.isSymbolicLink() === true;

function typeOf(path: string): 'file' | 'other' | undefined {
  const stat = ignoreErrors(() => lstatSync(path, { throwIfNoEntry: false }));
  return stat && (stat.isFile() ? 'file' : 'other');
}

const owned = (place: Place, verb: string, rule: string, fact: string) =>
  fail('path.protected', `${cannot({ ...place, verb })}: ${fact}`, { rule });

/** Of a root beside the workspace, as for programs: about a second. */
const MAX_ENTRIES = 200_000;

const NAMES = new Set([
  ...HOOKS,
  ...['HEAD', 'config', 'config.worktree', 'commondir', 'gitdir', 'packed-refs'],
  // Of objects that others share: git takes these without being told of them.
  ...['alternates', 'http-alternates', 'multi-pack-index', 'packs', 'grafts', 'shallow'],
]);
const LIKE_GIT =
  /gitconfig|^git[._-]|^(?:pack-)?[0-9a-f]{38,}(?:\.|$)|^(?:commit-graph|multi-pack-index)|\.(?:idx|pack|rev|bitmap|midx|mtimes|keep|promisor|graph)$/;

/** Whether git would take a file of this name for a part of a repository by its name alone. */
const hasGitName = (path: string): boolean => {
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
