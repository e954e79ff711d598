// Owns: the content-addressed store of a process that may never need it: loaded by the first call.
// Refuses: any work of its own.
import { lazyMethods, once } from '../../base/once.ts';
import type { ObjectStore } from '../../contract/object-store.ts';
import type { ObjectStoreOptions } from './open-object-store.ts';

export function lazyObjectStore(options: ObjectStoreOptions): ObjectStore {
  const load = once(async () => (await import('./open-object-store.ts')).openObjectStore(options));
  return {
    ...lazyMethods<Omit<ObjectStore, 'list'>>(METHODS, load),
    async *list() {
      yield* (await load()).list();
    },
  };
}

const METHODS = {
  put: true,
  putStream: true,
  putFile: true,
  get: true,
  getRange: true,
  copyTo: true,
  size: true,
  verify: true,
  touch: true,
  discard: true,
} as const;
