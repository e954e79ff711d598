// Owns: what is too long for an answer: kept as an artifact, so that whoever got the beginning can read the rest.
// Refuses: to cut anything; whoever answers does, and says so.
import type { ObjectId, ObjectStore } from '../contract/object-store.ts';
import type { RuntimeParts } from '../contract/runtime.ts';

type Parts = Pick<RuntimeParts, 'objects' | 'store'>;

export function createSpills({ objects, store }: Parts): Pick<ObjectStore, 'put' | 'putStream'> {
  const register = (id: ObjectId, size: number) =>
    store.artifacts.register({ id, kind: 'file', size, files: 1 });
  return {
    async put(bytes) {
      const id = await objects.put(bytes);
      await register(id, bytes.length);
      return id;
    },
    async putStream(chunks) {
      const stored = await objects.putStream(chunks);
      await register(stored.id, stored.size);
      return stored;
    },
  };
}
