// Owns: finding and opening a place beneath a root so that the thing opened is the thing checked; and a weaker way, for systems where
// the kernel does not tell where a descriptor is: there a link swapped between look and opening is noticed after, not prevented.
// Refuses: to hand out anything outside of the root, whatever links are swapped in meanwhile.
import type { BigIntStats } from 'node:fs';
import { closeSync, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { parentOf } from '../../base/rel-path.ts';
import { isFailure } from '../../contract/errors.ts';
import type { Attempt, LastLink, Located, Root } from './root.ts';
import {
  absolute,
  isOnOurMount,
  notAFile,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_PATH,
  osFailure,
  outside,
  placeOf,
  raced,
  sameThing,
  whereLinksLead,
} from './root.ts';

const ATTEMPTS = 8;
const BIG = { bigint: true } as const;

/**
 * Pins what is at `rel`, a normalised relative path. Opens nothing that could notice and reads nothing: the
 * descriptor only marks the place, and the kernel says where that is once no name can change it any more.
 */
export function locate(root: Root, rel: string, verb: string, last: LastLink = 'follow'): Located {
  const attempt = { root, rel, verb };
  if (!root.exact) return locateByName(attempt, last);
  const named = absolute(root, rel);
  const flags = last === 'follow' ? O_PATH : O_PATH | O_NOFOLLOW;
  for (let turn = 0; turn < ATTEMPTS; turn++) {
    let fd: number;
    try {
      fd = openSync(named, flags);
    } catch (thrown) {
      throw whyNotOpened(attempt, thrown);
    }
    let found: Located | undefined;
    try {
      found = pinned(attempt, named, fd, last);
    } finally {
      if (!found) closeSync(fd);
    }
    if (found) return found;
  }
  throw raced(attempt);
}

/** A real descriptor of what was located. Regular files only, so that no device or FIFO is ever opened. */
export function openLocated(found: Located, flags: number, verb: string): number {
  const attempt = { root: found.root, rel: found.rel, verb };
  if (!found.stat.isFile()) throw notAFile(attempt, found.stat.isDirectory());
  let fd: number;
  try {
    fd = openSync(found.path, found.fd < 0 ? flags | O_NOFOLLOW | O_NONBLOCK : flags | O_NONBLOCK);
  } catch (thrown) {
    throw osFailure(thrown, attempt);
  }
  if (found.fd < 0) verifyByName(found, fd, verb);
  return fd;
}

/** Undefined when the place changed between opening and asking where it is: worth another try. */
function pinned(attempt: Attempt, named: string, fd: number, last: LastLink): Located | undefined {
  const path = `/proc/self/fd/${fd}`;
  const real = readlinkSync(path);
  const place = real === named ? attempt : placeOf(attempt.root, real);
  if (place === undefined || (real !== named && leavesOnTheWay(attempt, last))) throw outside(attempt);
  const stat = fstatSync(fd, BIG);
  // The kernel marks a removed file by this suffix, which a name may also have.
  if (real.endsWith(' (deleted)')) {
    if (!sameThing(stat, lstatSync(real, { bigint: true, throwIfNoEntry: false }))) return undefined;
  }
  if (!isOnOurMount(place.root, fd)) throw outside(attempt);
  return { root: place.root, rel: place.rel, stat, path, fd };
}

/** A link that leaves says so whether or not something is there: nobody learns what exists outside. */
function whyNotOpened(attempt: Attempt, thrown: unknown) {
  if (whereLinksLead(attempt.root, attempt.rel) === undefined) return outside(attempt);
  return osFailure(thrown, attempt);
}

/** A link out and back in again works only if what it passes is there, which would tell. */
function leavesOnTheWay({ root, rel }: Attempt, last: LastLink): boolean {
  return whereLinksLead(root, last === 'follow' ? rel : parentOf(rel)) === undefined;
}

/** Resolves links by name and remembers what was there. */
function locateByName(attempt: Attempt, last: LastLink): Located {
  const { root, rel } = attempt;
  let real: string;
  let stat: BigIntStats;
  try {
    real =
      last === 'follow' || rel === '.' ? realpathSync.native(absolute(root, rel)) : realParentOf(attempt);
    stat = lstatSync(real, BIG);
  } catch (thrown) {
    if (whereLinksLead(root, rel) === undefined) throw outside(attempt);
    throw osFailure(thrown, attempt);
  }
  const place = placeOf(root, real);
  if (!place || whereLinksLead(root, last === 'follow' ? rel : parentOf(rel)) === undefined)
    throw outside(attempt);
  return { ...place, stat, path: real, fd: -1 };
}

/** Checks after opening that the same thing is still at the same place; closes the descriptor when not. */
function verifyByName(found: Located, fd: number, verb: string): void {
  try {
    if (sameThing(found.stat, fstatSync(fd, BIG)) && realpathSync.native(found.path) === found.path) return;
  } catch {
    // It went away: raced, as below.
  }
  closeSync(fd);
  throw raced({ root: found.root, rel: found.rel, verb });
}

function realParentOf({ root, rel }: Attempt): string {
  const path = absolute(root, rel);
  const slash = path.lastIndexOf('/');
  const parent = realpathSync.native(path.slice(0, slash) || '/');
  return `${parent === '/' ? '' : parent}${path.slice(slash)}`;
}

/** What `find` finds; undefined where nothing is there. */
export function unlessAbsent<T>(find: () => T): T | undefined {
  try {
    return find();
  } catch (thrown) {
    if (isFailure(thrown) && (thrown.reason === 'path.not_found' || thrown.reason === 'path.not_directory'))
      return undefined;
    throw thrown;
  }
}
