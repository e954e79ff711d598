// Owns: objects of a few KiB, kept in the database, where one sync makes many of them durable.
// Refuses: to be asked for what is large; a file of its own serves that better.
import type { SmallObjects } from '../small-objects.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

const FIND = 'SELECT bytes FROM small_objects WHERE sha256 = ?';
const SIZE = 'SELECT length(bytes) AS size FROM small_objects WHERE sha256 = ?';
const INSERT = 'INSERT INTO small_objects (sha256, bytes) VALUES (?, ?)';
const MEND = 'UPDATE small_objects SET bytes = ? WHERE sha256 = ?';

export function createSmallObjects(connection: Connection, group: GroupCommit): SmallObjects {
  const find = (sha256: string): Uint8Array | undefined =>
    connection.sql(FIND).get(key(sha256))?.bytes as Uint8Array | undefined;
  return {
    put: (sha256, bytes) =>
      group.enqueue(
        () => {
          const known = find(sha256);
          if (!known) connection.sql(INSERT).run(key(sha256), bytes);
          else if (Buffer.compare(known, bytes) !== 0) connection.sql(MEND).run(bytes, key(sha256));
        },
        true,
        bytes.length,
      ),
    get: (sha256) => connection.read(() => find(sha256)),
    size: (sha256) =>
      connection.read(() => connection.sql(SIZE).get(key(sha256))?.size as number | undefined),
  };
}

const key = (sha256: string): Uint8Array => Buffer.from(sha256, 'hex');
