// Owns: an object store in a temporary workspace, as the conformance suites and the tests beside this file want it.
// Refuses: to hold tests of its own.
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../contract/object-store.ts';
import type { ObjectStoreEnvironment } from '../../testing/object-store-suite.ts';
import { openSqliteEnvironment, type SqliteEnvironment } from '../sqlite/environment-for-tests.ts';
import { openObjectStore } from './open-object-store.ts';

export interface ObjectsEnvironment extends ObjectStoreEnvironment {
  /** `.haft/objects`. */
  readonly folder: string;
  readonly sqlite: SqliteEnvironment;
  placeOf(id: ObjectId): string;
  remove(id: ObjectId): Promise<void>;
}

export async function openObjectsEnvironment(
  options: { readonly small?: boolean } = {},
): Promise<ObjectsEnvironment> {
  const sqlite = await openSqliteEnvironment();
  const folder = join(sqlite.folder, 'objects');
  const open = () =>
    openObjectStore({
      folder,
      process: sqlite.livingProcess,
      uses: sqlite.store.objectUses,
      ...(options.small === false ? {} : { small: sqlite.store.smallObjects }),
    });
  const placeOf = (id: ObjectId): string => join(folder, 'sha256', id.slice(7, 9), id.slice(7));
  const rowOf = (id: ObjectId): string => `small_objects WHERE sha256 = x'${id.slice(7)}'`;
  return {
    objects: open(),
    reopen: async () => open(),
    folder,
    sqlite,
    placeOf,
    async damage(id) {
      if (!(await stat(placeOf(id)).catch(() => undefined))) {
        const flipped = "CAST('!' || substr(CAST(bytes AS TEXT), 2) AS BLOB)";
        sqlite.sql(`UPDATE ${rowOf(id).replace('WHERE', `SET bytes = ${flipped} WHERE`)}`);
        return;
      }
      const bytes = await readFile(placeOf(id));
      bytes[bytes.length >> 1]! ^= 1;
      await chmod(placeOf(id), 0o600);
      await writeFile(placeOf(id), bytes);
    },
    async remove(id) {
      sqlite.sql(`DELETE FROM ${rowOf(id)}`);
      await rm(placeOf(id), { force: true });
    },
    close: sqlite.close,
  };
}
