// Owns: the words of a plan: steps that can be taken and taken back, and the changes that they amount to; and the tree as it will be
// after the steps planned so far, so that edits of one mutation can build on each other.
// Refuses: to touch the disk beyond looking, and to look below a tree that an earlier edit moved.
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs';
import { isUnder, parentOf } from '../../../base/rel-path.ts';
import type { Change, EntryState } from '../../../contract/capability.ts';
import { fail } from '../../../contract/errors.ts';
import type { ObjectId } from '../../../contract/object-store.ts';
import { cannot } from '../path-failures.ts';
import { type EntryType, isTempName, nameOf, type Place, typeOf } from '../root.ts';
import { nameIn } from '../to-place.ts';
import type { Given, Owner } from './ownership.ts';
import type { Folders } from './pins.ts';

/** What will be at a place that an edit was planned for. The state of a copy is undefined until it is staged. */
export interface PlannedEntry {
  readonly type: EntryType;
  readonly state: () => EntryState | undefined;
  readonly content?: Content;
}

/** Nothing, something on disk, or something planned. */
export type Look =
  | { readonly is: 'nothing'; readonly type?: undefined }
  | { readonly is: 'disk'; readonly type: EntryType; readonly stat: BigIntStats }
  | ({ readonly is: 'planned' } & PlannedEntry);

export interface View {
  /** `onDisk` spares looking there again: what is, or null for nothing. */
  look(place: Place, onDisk?: BigIntStats | null): Look;
  set(place: Place, entry: PlannedEntry | null): void;
  /** From now on nothing below this place may be touched: it is a tree that moves as a whole. */
  seal(place: Place): void;
  /** Whether an edit was planned for something below the place. */
  hasPlansBelow(place: Place): boolean;
  isEmptyFolder(place: Place): boolean;
}

export function createView(folders: Folders): View {
  const planned = new Map<string, PlannedEntry | null>();
  const sealed: string[] = [];

  const refuseSealed = (place: Place) => {
    const name = nameOf(place.root, place.rel);
    if (!sealed.some((tree) => isUnder(name, tree))) return;
    throw fail(
      'path.invalid',
      `${cannot({ ...place, verb: 'edit' })}: an earlier edit moves the tree it is in`,
    );
  };

  /** The nearest planned entry above decides whether the disk has a say. */
  const isCutOff = (place: Place): boolean => {
    for (let rel = place.rel; rel !== '.'; ) {
      rel = parentOf(rel);
      const above = planned.get(nameOf(place.root, rel));
      if (above !== undefined) return true;
    }
    return false;
  };

  const look: View['look'] = (place, onDisk) => {
    refuseSealed(place);
    const entry = planned.get(nameOf(place.root, place.rel));
    if (entry !== undefined) return entry ? { is: 'planned', ...entry } : { is: 'nothing' };
    if (isCutOff(place)) return { is: 'nothing' };
    const stat = onDisk === undefined ? statOf(folders, place) : onDisk;
    return stat ? { is: 'disk', type: typeOf(stat), stat } : { is: 'nothing' };
  };

  return {
    look,
    set: (place, entry) => void planned.set(nameOf(place.root, place.rel), entry),
    seal: (place) => void sealed.push(nameOf(place.root, place.rel)),
    hasPlansBelow(place) {
      const name = nameOf(place.root, place.rel);
      return [...planned.keys()].some((key) => key !== name && isUnder(key, name));
    },
    isEmptyFolder(place) {
      const name = nameOf(place.root, place.rel);
      const remains = [...planned].some(([key, entry]) => entry && key !== name && isUnder(key, name));
      if (remains) return false;
      const folder = look(place).is === 'disk' ? folders.find(place) : undefined;
      if (!folder) return true;
      return readdirSync(folder.path).every(
        (child) => isTempName(child) || planned.get(`${name}/${child}`) === null,
      );
    },
  };
}

function statOf(folders: Folders, place: Place): BigIntStats | undefined {
  const known = place.rel === '.' ? folders.find(place) : folders.known(place);
  if (known || place.rel === '.') return known?.stat;
  const folder = folders.find({ root: place.root, rel: parentOf(place.rel) });
  if (!folder) return undefined;
  return lstatSync(`${folder.path}/${nameIn(place.rel)}`, { bigint: true, throwIfNoEntry: false });
}

/** What must be at a place right before a step: this very thing, nothing, or whatever an earlier step put there. */
export type Expected = BigIntStats | 'nothing' | 'planned';

/** What a file or link is made of. */
export type Content =
  | { readonly bytes: Uint8Array }
  | { readonly object: ObjectId; readonly size: number }
  | { readonly copyOf: Place; readonly stat: BigIntStats }
  | { readonly target: string };

export interface MakeFolder extends Given {
  readonly do: 'makeFolder';
  readonly place: Place;
  /** Exactly this mode; otherwise the folder is simply new. */
  readonly exact: boolean;
}

export interface RemoveFolder extends Given {
  readonly do: 'removeFolder';
  readonly place: Place;
}

/** Puts a staged file or link in place, replacing a file or link. */
export interface Put {
  readonly do: 'put';
  readonly place: Place;
  readonly content: Content;
  readonly mode: number;
  readonly owner?: Owner;
  readonly expected: Expected;
  readonly mustCreate: boolean;
  /** An existing folder of the same file system, at or above the place, to stage in. */
  readonly stageIn: Place;
}

/** Removes a file, a link or (with its fingerprint) a whole tree. */
export interface Remove {
  readonly do: 'remove';
  readonly place: Place;
  readonly expected: Expected;
  readonly fingerprint?: string;
}

export interface Rename {
  readonly do: 'rename';
  readonly place: Place;
  readonly from: Place;
  readonly expectedFrom: Expected;
  readonly expected: Expected;
  /** What an empty folder that gives way has. */
  readonly replacesFolder?: Given;
}

export type Step = MakeFolder | RemoveFolder | Put | Remove | Rename;

/** A change whose states are known once pre-images are read and copies are staged; until then `after` is undefined. */
export interface PlannedChange extends Pick<Change, 'path' | 'movedFrom' | 'fingerprint'> {
  readonly before: Promise<Before>;
  readonly after: () => EntryState | null | undefined;
}

export interface Before {
  readonly state: EntryState | null | undefined;
  readonly stored: boolean;
}
