// Owns: the weaker way to find a place, for systems where the kernel does not tell where a descriptor is.
// Refuses: to claim more than it does: a link swapped between the look and the opening is noticed after, not prevented.
import { type BigIntStats, closeSync, fstatSync, lstatSync, realpathSync } from 'node:fs';
import { parentOf } from '../../base/rel-path.ts';
import { type LastLink, type Located, sameThing } from './located.ts';
import { type Attempt, osFailure, outside, raced } from './path-failures.ts';
import { absolute, placeOf, whereLinksLead } from './root.ts';

const BIG = { bigint: true } as const;

/** Resolves links by name and remembers what was there. */
export function locateByName(attempt: Attempt, last: LastLink): Located {
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
export function verifyByName(found: Located, fd: number, verb: string): void {
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
