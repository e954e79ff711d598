// Owns: what is known of the files of one place, kept between processes, so that what did not change is not read again.
// Refuses: to grow: what the last reading did not ask for is forgotten.
import { sha256Hex } from '../../base/digest.ts';
import { readOwnCache, writeOwnCache } from '../own-cache.ts';
import type { KnownFile, TreeMemory } from './read-tree.ts';

/** Counted up whenever an old entry would be read otherwise. */
const FORMAT = 1;

export interface KeptMemory extends TreeMemory {
  /** Keeps what was asked for since, where something of it is new. */
  save(): void;
}

/** `cacheFolder` is two levels below the state folder; `place` is whatever tells one tree from another. */
export function openTreeMemory(cacheFolder: string, place: string): KeptMemory {
  const name = sha256Hex(place).slice(0, 32);
  let known: Map<string, KnownFile> | undefined;
  let asked = new Map<string, KnownFile>();
  let isNew = false;
  const all = () => {
    known ??= new Map(
      Object.entries(readOwnCache<Record<string, KnownFile>>(cacheFolder, name, FORMAT) ?? {}),
    );
    return known;
  };
  return {
    get(path) {
      const found = all().get(path);
      if (found) asked.set(path, found);
      return found;
    },
    set(path, file) {
      asked.set(path, file);
      isNew = true;
    },
    save() {
      known = asked;
      asked = new Map();
      if (isNew) writeOwnCache(cacheFolder, name, FORMAT, Object.fromEntries(known));
      isNew = false;
    },
  };
}
