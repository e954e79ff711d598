// Owns: the tree as it will be after the steps planned so far, so that edits of one mutation can build on each other.
// Refuses: to touch the disk beyond looking, and to look below a tree that an earlier edit moved.
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs';
import { isUnder, parentOf } from '../../../base/rel-path.ts';
import type { EntryState } from '../../../contract/capability.ts';
import { fail } from '../../../contract/errors.ts';
import { type EntryType, typeOf } from '../located.ts';
import { cannot } from '../path-failures.ts';
import { nameOf, type Place } from '../root.ts';
import { isTempName } from '../temp-name.ts';
import { nameIn } from '../to-place.ts';
import type { Folders } from './folders.ts';
import type { Content } from './step.ts';

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
