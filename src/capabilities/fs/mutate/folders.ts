// Owns: the folders that a mutation works in, pinned while it does.
// Refuses: a folder that is not exactly where it was when the plan was made.
import type { Located } from '../located.ts';
import { raced } from '../path-failures.ts';
import { nameOf, type Place } from '../root.ts';
import { isStillThere, type Pins } from './pins.ts';

export interface Folders {
  /**
   * For planning: undefined when no folder is there. Throws `path.raced` when a link is on the way: places are real
   * by now.
   */
  find(place: Place): Located | undefined;
  /** Before places are known to be real: undefined as well when a link is on the way, or the folder cannot be had. */
  pin(place: Place): Located | undefined;
  /** What was pinned before, if it still is. */
  known(place: Place): Located | undefined;
  /** For acting: the folder must be there, now. */
  open(place: Place): Located;
  /** After a folder was moved or removed: what was known of it and of all below is void. */
  forget(place: Place): void;
  close(): void;
}

/** Descriptors kept at most; the one longest unused goes first. */
const KEPT = 64;

export function createFolders(verb: string, pins: Pins): Folders {
  const kept = new Map<string, Located>();

  const drop = (key: string, folder: Located) => {
    kept.delete(key);
    pins.give(folder);
  };

  const find = (place: Place): Located | undefined => {
    const key = nameOf(place.root, place.rel);
    const known = kept.get(key);
    if (known) {
      kept.delete(key);
      kept.set(key, known);
      return known;
    }
    const found = pins.take(place, verb);
    if (!found) return undefined;
    for (const [oldest, folder] of kept) {
      if (kept.size < KEPT) break;
      drop(oldest, folder);
    }
    kept.set(key, found);
    return found;
  };

  return {
    find,
    known: (place) => kept.get(nameOf(place.root, place.rel)),
    pin(place) {
      try {
        return find(place);
      } catch {
        return undefined;
      }
    },
    open(place) {
      const known = kept.get(nameOf(place.root, place.rel));
      if (known && !isStillThere(known)) drop(nameOf(place.root, place.rel), known);
      const found = find(place);
      if (!found) throw raced({ ...place, verb });
      return found;
    },
    forget(place) {
      const key = nameOf(place.root, place.rel);
      for (const [name, folder] of kept) if (name === key || name.startsWith(`${key}/`)) drop(name, folder);
    },
    close() {
      for (const folder of kept.values()) pins.give(folder);
      kept.clear();
    },
  };
}
