// Owns: where a place really is after links, and which other names a path is to be locked by: where links lead from it at this moment.
// Refuses: promises. A link may be changed right after; planning checks that what it changes is locked (mutate/planning.ts).
import { lstatSync, realpathSync } from 'node:fs';
import { joinRel, parentOf } from '../../base/rel-path.ts';
import type { RealNames } from '../../contract/capability.ts';
import { isFailure } from '../../contract/errors.ts';
import { locate } from './beneath.ts';
import type { LastLink, Place, Root } from './root.ts';
import {
  absolute,
  makeRoots,
  nameIn,
  nameOf,
  outside,
  placeOf,
  raced,
  release,
  whereLinksLead,
} from './root.ts';

const ATTEMPTS = 8;

/** Where the place really is, also when the last part of it is still missing. */
export function realPlace(place: Place, verb: string, last: LastLink): Place {
  for (let turn = 0; turn < ATTEMPTS; turn++) {
    const found = whatIsThere(place, verb, last);
    if (found && isSame(found, place)) return found;
    const led = whereItLeads(place, last);
    if (!found && !led) throw outside({ ...place, verb });
    if (!found && led) return led;
    // Only links may lead elsewhere: a folder that was moved meanwhile is no longer what the path names.
    if (found && led && isSame(found, led)) return found;
  }
  throw raced({ ...place, verb });
}

function whatIsThere({ root, rel }: Place, verb: string, last: LastLink): Place | undefined {
  try {
    const found = locate(root, rel, verb, last);
    release(found);
    return { root: found.root, rel: found.rel };
  } catch (thrown) {
    if (!isFailure(thrown) || thrown.reason !== 'path.not_found' || rel === '.') throw thrown;
    return undefined;
  }
}

/** By names and links alone; undefined outside of every root. */
export function whereItLeads({ root, rel }: Place, last: LastLink): Place | undefined {
  const real = whereLinksLead(root, last === 'follow' ? rel : parentOf(rel));
  if (real === undefined || real === 'circle') return undefined;
  if (last === 'follow') return real;
  return { root: real.root, rel: joinRel(real.rel, nameIn(rel)) };
}

const isSame = (a: Place, b: Place): boolean => a.root === b.root && a.rel === b.rel;

export function createRealNames(): RealNames {
  const known = new Map<string, Root>();
  const rootOf: (scope: Parameters<RealNames>[1]) => Root = ({ root, extraRoots }) => {
    const key = [root, ...extraRoots].join('\0');
    const made = known.get(key) ?? makeRoots(root, extraRoots, false);
    known.set(key, made);
    return made;
  };
  return (path, scope) => {
    const named = path.startsWith('/') ? path : path === '.' ? scope.root : `${scope.root}/${path}`;
    if (named === scope.root || isPlain(named, scope.root)) return NONE;
    const place = placeOf(rootOf(scope), named);
    if (!place || place.rel === '.') return NONE;
    // Whether a link in the last component is followed is the tool's to say: both places are locked.
    const names = [led(place), inFolder(led({ ...place, rel: parentOf(place.rel) }), nameIn(place.rel))];
    return names.flatMap((real) => (real && lockNameOf(real) !== path ? [lockNameOf(real)] : []));
  };
}

const NONE: readonly string[] = [];

/** One name for each place, also where one root lies in another: what is in the workspace is named from there. */
export function lockNameOf({ root, rel }: Place): string {
  if (!root.extra) return rel;
  const place = placeOf(root.all[0]!, absolute(root, rel)) ?? { root, rel };
  return nameOf(place.root, place.rel);
}

/** Nearly all are: nothing on the way to it is a link, and neither is it. */
function isPlain(path: string, workspace: string): boolean {
  try {
    const folder = parentOf(path);
    if (folder !== workspace && realpathSync.native(folder) !== folder) return false;
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true;
  } catch {
    // A folder is missing, or cannot be looked into.
    return false;
  }
}

/** Undefined outside of every root, and in a circle: nothing can be changed there. */
function led({ root, rel }: Place): Place | undefined {
  const place = whereLinksLead(root, rel);
  return place === 'circle' ? undefined : place;
}

const inFolder = (folder: Place | undefined, name: string): Place | undefined =>
  folder && { root: folder.root, rel: joinRel(folder.rel, name) };
