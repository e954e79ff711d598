// Owns: the folders that mutations work in, pinned while they do; those that are under way in the same folder share a descriptor.
// Refuses: a folder that is not exactly where its name says, or where it was when the plan was made.
import { fstatSync, readlinkSync } from 'node:fs';
import { locate, unlessAbsent } from '../beneath.ts';
import { absolute, type Located, nameOf, type Place, raced, release } from '../root.ts';

export interface Pins {
  /** Undefined when no folder is there. Throws `path.raced` when a link is on the way. */
  take(place: Place, verb: string): Located | undefined;
  /** For everything that was taken, once. */
  give(folder: Located): void;
}

interface Pin {
  readonly folder: Located;
  users: number;
}

export function createPins(): Pins {
  const byName = new Map<string, Pin>();
  const byDescriptor = new Map<number, Pin>();
  return {
    take(place, verb) {
      const name = absolute(place.root, place.rel);
      const shared = byName.get(name);
      if (shared && isStillThere(shared.folder)) {
        shared.users++;
        return { ...shared.folder, ...place, stat: fstatSync(shared.folder.fd, { bigint: true }) };
      }
      const folder = locateExactly(place, verb);
      if (!folder?.stat.isDirectory()) {
        if (folder) release(folder);
        return undefined;
      }
      if (folder.fd >= 0) {
        const pin = { folder, users: 1 };
        byName.set(name, pin);
        byDescriptor.set(folder.fd, pin);
      }
      return folder;
    },
    give({ root, rel, fd }) {
      const pin = byDescriptor.get(fd);
      if (!pin || --pin.users > 0) return;
      byDescriptor.delete(fd);
      const name = absolute(root, rel);
      if (byName.get(name) === pin) byName.delete(name);
      release(pin.folder);
    },
  };
}

export function isStillThere(folder: Located): boolean {
  if (folder.fd < 0) return false;
  try {
    return readlinkSync(folder.path) === absolute(folder.root, folder.rel);
  } catch {
    return false;
  }
}

/** Pins what is really at this very place, without following a link. */
export function locateExactly(place: Place, verb: string): Located | undefined {
  const found = unlessAbsent(() => locate(place.root, place.rel, verb, 'keep'));
  if (!found) return undefined;
  if (found.rel === place.rel && found.root === place.root) return found;
  release(found);
  throw raced({ ...place, verb });
}

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
