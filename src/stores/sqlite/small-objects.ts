// Owns: objects of a few KiB, kept in the database, where one sync makes many of them durable.
// Refuses: to be asked for what is large; a file of its own serves that better.
import type { SmallObjects } from '../small-objects.ts';
import { breathe, WINDOW } from './audit-pages.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';
import { isStale } from './object-uses.ts';

const FIND = 'SELECT bytes, used_ts FROM small_objects WHERE sha256 = ?';
const SIZE = 'SELECT length(bytes) AS size FROM small_objects WHERE sha256 = ?';
const INSERT = 'INSERT INTO small_objects (sha256, bytes, used_ts) VALUES (?, ?, ?)';
const MEND = 'UPDATE small_objects SET bytes = ?, used_ts = ? WHERE sha256 = ?';
const TOUCH = 'UPDATE small_objects SET used_ts = ? WHERE sha256 = ?';
const ALL = `SELECT n, lower(hex(sha256)) AS sha256, length(bytes) AS size, used_ts AS usedTs FROM small_objects
  WHERE n > ? ORDER BY n LIMIT ${WINDOW}`;
const RELEASE = 'DELETE FROM small_objects WHERE sha256 = ? AND used_ts < ?';

interface Listed {
  readonly n: number;
  readonly sha256: string;
  readonly size: number;
  readonly usedTs: number;
}

type Row = { readonly bytes: Uint8Array; readonly used_ts: number };

export function createSmallObjects(
  connection: Connection,
  group: GroupCommit,
  clock: { now(): number },
): SmallObjects {
  const find = (sha256: string) => connection.sql(FIND).get(key(sha256)) as Row | undefined;
  return {
    put: (sha256, bytes) =>
      group.enqueue(
        () => {
          const known = find(sha256);
          const now = clock.now();
          if (!known) connection.sql(INSERT).run(key(sha256), bytes, now);
          else if (Buffer.compare(known.bytes, bytes) !== 0)
            connection.sql(MEND).run(bytes, now, key(sha256));
          else if (isStale(known.used_ts, now)) connection.sql(TOUCH).run(now, key(sha256));
        },
        true,
        bytes.length,
      ),
    get: (sha256) => connection.read(() => find(sha256)?.bytes),
    size: (sha256) =>
      connection.read(() => connection.sql(SIZE).get(key(sha256))?.size as number | undefined),
    touch: (sha256s) =>
      group.enqueue(() => {
        for (const sha256 of sha256s) connection.sql(TOUCH).run(clock.now(), key(sha256));
      }),
    async *all() {
      for (let after = 0; ; ) {
        const some = await connection.read(() => connection.sql(ALL).all(after) as unknown as Listed[]);
        yield some;
        if (some.length < WINDOW) return;
        after = some.at(-1)!.n;
        await breathe();
      }
    },
    release: (sha256s, unusedSince) =>
      group.enqueue(() =>
        sha256s.filter((sha256) => connection.sql(RELEASE).run(key(sha256), unusedSince).changes !== 0),
      ),
  };
}

const key = (sha256: string): Uint8Array => Buffer.from(sha256, 'hex');
