// Owns: what a path that a caller gives means: which root it is beneath, and where it really is after links.
// Refuses: paths outside of every root, and those of files on their way into place.
import { joinRel, normalizeRelPath, parentOf } from '../../base/rel-path.ts';
import type { CallScope } from '../../contract/capability.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import { locate } from './beneath.ts';
import { type LastLink, release } from './located.ts';
import { cannot, outside, raced } from './path-failures.ts';
import { type Place, placeOf, type Root, whereLinksLead } from './root.ts';
import { hasTempName } from './temp-name.ts';

/** What effects call a path that may lie below another root; nearly all are relative, and are what they are. */
export function spellingOf(scope: Pick<CallScope, 'place'>, path: string): string {
  return path.startsWith('/') || path.includes('..') ? scope.place(path) : path;
}

/** By its names alone. The same spelling as effects use, so that what is declared can be compared. */
export function toPlace(root: Root, path: string, verb: string): Place {
  const isAbsolute = path.startsWith('/');
  const normal = normalizeRelPath(isAbsolute ? path.replace(/^\/+/, '') || '.' : path);
  if (!normal.ok)
    throw fail(normal.reason, normal.message.replace('Cannot use the path', `Cannot ${verb} the path`));
  const place = isAbsolute
    ? placeOf(root, normal.path === '.' ? '/' : `/${normal.path}`)
    : { root, rel: normal.path };
  if (!place) {
    throw fail('path.outside_workspace', `Cannot ${verb} the path: it is outside of the workspace`);
  }
  refuseTemp(place, verb);
  return place;
}

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
function whereItLeads({ root, rel }: Place, last: LastLink): Place | undefined {
  const real = whereLinksLead(root, last === 'follow' ? rel : parentOf(rel));
  if (real === undefined || real === 'circle') return undefined;
  if (last === 'follow') return real;
  return { root: real.root, rel: joinRel(real.rel, nameIn(rel)) };
}

const isSame = (a: Place, b: Place): boolean => a.root === b.root && a.rel === b.rel;

/** What is staged or put aside belongs to the call that does it, whatever it is a copy of. */
export function refuseTemp(place: Place, verb: string): void {
  if (!hasTempName(place.rel)) return;
  throw fail('path.protected', `${cannot({ ...place, verb })}: it is a file on its way into or out of place`);
}

/** The last component. */
export function nameIn(rel: string): string {
  return rel.slice(rel.lastIndexOf('/') + 1);
}
