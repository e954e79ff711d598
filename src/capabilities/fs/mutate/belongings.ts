// Owns: which places belong to a repository or to another workspace below, as only the disk can tell: the folder that a
// `.git` file leads to has any name, so have files that a configuration includes, and a pack is a folder like others.
// Refuses: to decide by name; policy does that (runtime/policy/protected-paths.ts).
import { lstatSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { once } from '../../../base/once.ts';
import { packWords } from '../../../base/pack-words.ts';
import { isUnder, parentOf } from '../../../base/rel-path.ts';
import { fail } from '../../../contract/errors.ts';
import { fencesInUse } from '../../fences-in-use.ts';
import { gitFolders, readText } from '../../git-folders.ts';
import { cannot } from '../path-failures.ts';
import { absolute, type Place } from '../root.ts';
import { hasGitName, MAX_ENTRIES, outlyingParts } from './outlying-parts.ts';

export interface Belongings {
  /**
   * Throws `path.protected` where changing this place would change a repository, or a pack of a workspace below, and
   * `lock.busy` where a program that runs now is kept from this very thing.
   */
  refuse(place: Place, verb: string): void;
}

/** For one mutation: each folder is looked at once. */
export function createBelongings(workspace: string, isAlive?: (process: string) => boolean): Belongings {
  const inUse = once(() => fencesInUse(workspace, isAlive));
  const looked = new Map<string, Folder>();
  /** By root. */
  const outlying = new Map<string, readonly string[] | undefined>();
  const partsIn = (root: string): readonly string[] | undefined => {
    if (!outlying.has(root))
      outlying.set(root, outlyingParts(root, root === workspace ? Number.POSITIVE_INFINITY : MAX_ENTRIES));
    return outlying.get(root);
  };
  /** Repositories around a path are looked at below; what others lay claim to only a look through the roots can tell. */
  const refuseOutlying = (place: Place, real: string, verb: string): void => {
    if (!hasGitName(real)) return;
    for (const root of new Set([workspace, absolute(place.root, '.')])) {
      const parts = partsIn(root);
      if (parts === undefined)
        throw owned(
          place,
          verb,
          'protected:.git',
          `git looks for files of that name, and its root has over ${MAX_ENTRIES} entries, too many to look for a repository that counts on it; name a smaller folder in paths.extra_roots`,
        );
      if (parts.some((part) => isUnder(real, part)))
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
  const look = (path: string): Folder => {
    const known = looked.get(path) ?? (typeOf(path) === 'file' ? PLAIN_FILE : lookInto(path));
    looked.set(path, known);
    return known;
  };
  const becomesRepository = (path: string, { typeOf }: Folder) =>
    isRepository(path, (part) => typeOf(part) ?? (planned.has(part) ? 'file' : undefined));
  return {
    refuse(place, verb) {
      const { root, rel } = place;
      const real = absolute(root, rel);
      if (inUse().has(real))
        throw fail(
          'lock.busy',
          `${cannot({ ...place, verb })}: a program is running that is kept from it, and could reach what takes its place; try again when the program has ended`,
        );
      refuseOutlying(place, real, verb);
      for (let at = rel; ; at = parentOf(at)) {
        const path = absolute(root, at);
        const folder = look(path);
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
        if (path !== real && git.some((one) => isUnder(real, one) || isUnder(one, real)))
          throw owned(
            place,
            verb,
            'protected:.git',
            'a git repository reads its configuration from there; only git tools write it',
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
  readonly isRepository: boolean;
  /** What belongs to the repository of the `.git` in it: absolute and real, perhaps not there yet. */
  readonly git: readonly string[];
  /** What the haft.yaml in it may name as packs: absolute and real; all of it where that cannot be told. Read only where it counts. */
  readonly packs: () => readonly string[];
  /** Of what is in it. */
  readonly typeOf: typeof typeOf;
}

const lookInto = (path: string): Folder => ({
  isRepository: isRepository(path, typeOf),
  git: gitPlaces(path),
  packs: once(() => packsOf(path)),
  typeOf,
});

/** Most that is changed: asking the disk for what is in it costs four times as much as asking for what is not there. */
const PLAIN_FILE: Folder = { isRepository: false, git: [], packs: () => [], typeOf: () => undefined };

/** As git tells: a HEAD, and objects and refs of its own or those of another. */
function isRepository(folder: string, type: typeof typeOf): boolean {
  if (!type(`${folder}/HEAD`)) return false;
  return (
    type(`${folder}/commondir`) === 'file' ||
    (type(`${folder}/objects`) !== undefined && type(`${folder}/refs`) !== undefined)
  );
}

function gitPlaces(folder: string): string[] {
  const entry = `${folder}/.git`;
  if (typeOf(entry) === undefined) return [];
  // A link in it that leads to all of the folder says nothing about what is in there.
  return gitFolders(entry).places.filter((place) => !isUnder(folder, place));
}

function packsOf(folder: string): string[] {
  const file = `${folder}/haft.yaml`;
  if (typeOf(file) === undefined) return [];
  const text = readText(file);
  const words = text === undefined ? undefined : packWords(text);
  if (!words) return [folder];
  return words.flatMap((word) => {
    const path = quietly(() => realpathSync.native(resolve(folder, word)));
    return path === undefined || isUnder(folder, path) ? [] : [path];
  });
}

function typeOf(path: string): 'file' | 'other' | undefined {
  const stat = quietly(() => lstatSync(path, { throwIfNoEntry: false }));
  return stat && (stat.isFile() ? 'file' : 'other');
}

const owned = (place: Place, verb: string, rule: string, fact: string) =>
  fail('path.protected', `${cannot({ ...place, verb })}: ${fact}`, { rule });

function quietly<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
