// Owns: which owner and permission bits this process can give to an entry, and what is lost where it cannot.
// Refuses: set-user-id or set-group-id for another owner than the one that had it. Not here: ACLs and extended attributes.
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  openSync,
} from 'node:fs';
import type { Loss } from '../../../contract/capability.ts';
import { nameOf, type Place } from '../root.ts';

/** What could not be kept, found while planning and while acting. */
export type Losses = Loss[];

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const SET_USER_ID = 0o4000;
const SET_GROUP_ID = 0o2000;

/** What an entry had. Records of earlier versions know no owner. */
export interface Had extends Partial<Owner> {
  readonly mode: number;
}

export interface Given {
  readonly mode: number;
  readonly owner?: Owner;
}

/** For a copy that is simply this user's, only bits that go with the owner are losses. */
export function givable(had: Had, place: Place, losses: Losses, owned: 'restore' | 'copy'): Given {
  const { mode, uid, gid } = had;
  if (uid === undefined || gid === undefined) return { mode };
  const own = { uid: process.geteuid?.() ?? uid, gid: process.getegid?.() ?? gid };
  if (own.uid === 0) return { mode, owner: { uid, gid } };
  const lose = losing(place, losses);
  const groups = new Set([own.gid, ...(process.getgroups?.() ?? [])]);
  let kept = mode;
  const why = 'only root can give it to another user';
  if (uid !== own.uid) {
    if (owned === 'restore') lose('owner', `it was user ${uid}: ${why}`);
    if (mode & SET_USER_ID) lose('set_user_id', 'it is of use only with its owner');
    kept &= ~SET_USER_ID;
  }
  if (!groups.has(gid)) {
    if (owned === 'restore') lose('group', `it was group ${gid}, of which this user is no member`);
    if (mode & SET_GROUP_ID) lose('set_group_id', 'it is of use only with its group');
    kept &= ~SET_GROUP_ID;
  }
  const asIs = owned === 'copy' && (kept & (SET_USER_ID | SET_GROUP_ID)) === 0;
  return asIs
    ? { mode: kept }
    : { mode: kept, owner: { uid: own.uid, gid: groups.has(gid) ? gid : own.gid } };
}

/** Whoever wrote the new content was not trusted with another's rights: the system drops the bits likewise. */
export function loseSetId(mode: number, place: Place, losses: Losses): void {
  const why = 'the content is new, and such a bit stands for the one that it was set for';
  if (mode & SET_USER_ID) losing(place, losses)('set_user_id', why);
  if (mode & SET_GROUP_ID) losing(place, losses)('set_group_id', why);
}

/** Owner first, since a new owner takes away set-user-id; then exactly the mode, whatever the umask says. */
export function give(fd: number, { mode, owner }: Given, place: Place, losses: Losses): void {
  const stat = fstatSync(fd);
  const lose = losing(place, losses);
  let wanted = mode;
  let moved = false;
  if (owner && (stat.uid !== owner.uid || stat.gid !== owner.gid)) {
    try {
      fchownSync(fd, owner.uid, owner.gid);
      moved = true;
    } catch (thrown) {
      const why = `the system refuses it (${(thrown as { code?: string }).code})`;
      lose('owner', why);
      if (mode & SET_USER_ID) lose('set_user_id', 'it is of use only with its owner');
      if (mode & SET_GROUP_ID) lose('set_group_id', 'it is of use only with its group');
      wanted &= ~(SET_USER_ID | SET_GROUP_ID);
    }
  }
  if (!moved && (stat.mode & 0o7777) === wanted) return;
  try {
    fchmodSync(fd, wanted);
  } catch (thrown) {
    // A folder without its bits holds what is in it; a file must not be readable by more people than it was.
    if (!stat.isDirectory()) throw thrown;
  }
  // Some file systems, and groups that one is no member of, drop bits without a word.
  const got = fstatSync(fd).mode & 0o7777;
  if (got !== wanted) lose('permission_bits', `they are ${got.toString(8)}, not ${wanted.toString(8)}`);
}

/** The same for a folder. One that is simply new keeps the set-group-id that it has from the folder above. */
export function giveFolder(
  path: string,
  given: Given & { readonly exact: boolean },
  place: Place,
  losses: Losses,
): number {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const inherited = given.exact ? 0 : fstatSync(fd).mode & SET_GROUP_ID;
    give(fd, { ...given, mode: given.mode | inherited }, place, losses);
    return fd;
  } catch (thrown) {
    closeSync(fd);
    throw thrown;
  }
}

/** A link has no bits, only an owner. */
export function giveLink(path: string, owner: Owner, place: Place, losses: Losses): void {
  const stat = lstatSync(path);
  if (stat.uid === owner.uid && stat.gid === owner.gid) return;
  try {
    lchownSync(path, owner.uid, owner.gid);
  } catch (thrown) {
    losing(place, losses)('owner', `the system refuses it (${(thrown as { code?: string }).code})`);
  }
}

function losing(place: Place, losses: Losses): (what: Losses[number]['what'], why: string) => void {
  return (what, why) => void losses.push({ path: nameOf(place.root, place.rel), what, why });
}
