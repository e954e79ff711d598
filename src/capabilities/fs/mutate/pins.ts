// Owns: descriptors of the folders that mutations work in; those that are under way in the same folder share one.
// Refuses: to hand out a folder that is not exactly where its name says, now.
import { fstatSync, readlinkSync } from 'node:fs';
import { isFailure } from '../../../contract/errors.ts';
import { locate } from '../beneath.ts';
import { type Located, release } from '../located.ts';
import { raced } from '../path-failures.ts';
import { absolute, type Place } from '../root.ts';

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
  let found: Located;
  try {
    found = locate(place.root, place.rel, verb, 'keep');
  } catch (thrown) {
    if (isFailure(thrown) && (thrown.reason === 'path.not_found' || thrown.reason === 'path.not_directory')) {
      return undefined;
    }
    throw thrown;
  }
  if (found.rel === place.rel && found.root === place.root) return found;
  release(found);
  throw raced({ ...place, verb });
}
