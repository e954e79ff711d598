// Owns: objects of a few KiB in the database, where one sync makes many of them durable; when each of those that are files was last used; and which objects are artifacts.
// Refuses: what is large, and to write down every use: one that is a minute old is as good as a new one, since leases last for an hour. The row of an artifact is written once its bytes are durable, and goes before they go.
import type { Artifact, ArtifactRows } from '../../contract/artifacts.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { ObjectUses, SmallObjects } from '../object-rows.ts';
import { breathe, WINDOW } from './audit-segments.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

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

const TOUCH_USE = `INSERT INTO object_uses (sha256, used_ts) VALUES (?, ?)
  ON CONFLICT (sha256) DO UPDATE SET used_ts = max(used_ts, excluded.used_ts)`;
const ALL_USES = 'SELECT lower(hex(sha256)) AS sha256, used_ts AS usedTs FROM object_uses';
const USED_SINCE = 'SELECT 1 FROM object_uses WHERE sha256 = ? AND used_ts >= ?';
const FORGET = 'DELETE FROM object_uses WHERE sha256 = ?';

const REFRESH_MS = 60_000;
/** Of objects whose last use this process remembers by itself. */
const REMEMBERED = 20_000;

/** Whether a use is to be written down anew. */
const isStale = (usedTs: number, now: number): boolean => now - usedTs >= REFRESH_MS || now < usedTs;

export function createObjectUses(
  connection: Connection,
  group: GroupCommit,
  clock: { now(): number },
): ObjectUses {
  const own = new Map<string, number>();
  const remember = (sha256: string, now: number): void => {
    own.delete(sha256);
    own.set(sha256, now);
    if (own.size > REMEMBERED) own.delete(own.keys().next().value!);
  };
  return {
    async touch(sha256s) {
      const now = clock.now();
      const stale = sha256s.filter((sha256) => isStale(own.get(sha256) ?? 0, now));
      if (stale.length === 0) return;
      await group.enqueue(() => {
        for (const sha256 of stale) connection.sql(TOUCH_USE).run(key(sha256), now);
      });
      for (const sha256 of stale) remember(sha256, now);
    },
    all: () =>
      connection.read(
        () =>
          new Map(
            connection
              .sql(ALL_USES)
              .all()
              .map((row) => [row.sha256 as string, row.usedTs as number]),
          ),
      ),
    release: (sha256s, unusedSince, remove) =>
      group.enqueue(() =>
        sha256s.filter((sha256) => {
          if (connection.sql(USED_SINCE).get(key(sha256), unusedSince) || !remove(sha256)) return false;
          connection.sql(FORGET).run(key(sha256));
          return true;
        }),
      ),
  };
}

const MADE_BY = `(SELECT json_object('runId', attempts.run_id, 'role', role, 'type', type, 'label', label)
  FROM run_outputs JOIN attempts ON attempts.id = attempt_id
  WHERE artifact = 'sha256:' || lower(hex(artifacts.sha256)) ORDER BY run_outputs.n DESC LIMIT 1)`;
const COLUMNS = `'sha256:' || lower(hex(sha256)) AS id, kind, size, files, created_ts AS createdTs, used_ts AS usedTs,
  ${MADE_BY} AS madeBy`;
const REGISTER = `INSERT INTO artifacts (sha256, kind, size, files, created_ts, used_ts) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (sha256) DO UPDATE SET used_ts = max(used_ts, excluded.used_ts)`;
/** Bytes that were kept as a file may turn out to stand for a tree; never the other way round. */
const AS_TREE = `UPDATE artifacts SET kind = 'tree', size = ?, files = ? WHERE sha256 = ? AND kind = 'file'`;
const GET = `SELECT ${COLUMNS} FROM artifacts WHERE sha256 = ?`;
const PLACE = 'SELECT n FROM artifacts WHERE sha256 = ?';
const LIST = `SELECT ${COLUMNS} FROM artifacts WHERE n < ? AND (?2 IS NULL OR kind = ?2) ORDER BY n DESC LIMIT ?3`;
const USE = 'UPDATE artifacts SET used_ts = max(used_ts, ?) WHERE sha256 = ?';
const FORGET_ARTIFACTS = 'DELETE FROM artifacts WHERE sha256 = ? AND used_ts < ?';

export function createArtifactRows(
  connection: Connection,
  group: GroupCommit,
  clock: { now(): number },
): ArtifactRows {
  const get = (id: ObjectId): Artifact | undefined => {
    const row = connection.sql(GET).get(artifactKey(id));
    return row && toArtifact(row);
  };
  const placeOf = (id: ObjectId): number => {
    const row = connection.sql(PLACE).get(artifactKey(id));
    if (row) return row.n as number;
    throw fail('artifact.unknown', `Cannot list what is older than ${id}: there is no such artifact`);
  };
  return {
    register: ({ id, kind, size, files }) =>
      group.enqueue(() => {
        const now = clock.now();
        connection.sql(REGISTER).run(artifactKey(id), kind, size, files, now, now);
        if (kind === 'tree') connection.sql(AS_TREE).run(size, files, artifactKey(id));
        return get(id)!;
      }, true),
    get: (id) => connection.read(() => get(id)),
    list: ({ limit, before, kind = null }) =>
      connection.read(() => {
        const place = before === undefined ? Number.MAX_SAFE_INTEGER : placeOf(before);
        return connection.sql(LIST).all(place, kind, limit).map(toArtifact);
      }),
    use: (ids) =>
      group.enqueue(() => {
        for (const id of ids) connection.sql(USE).run(clock.now(), artifactKey(id));
      }),
    forget: (ids, unusedSince) =>
      group.enqueue(
        () =>
          ids.filter(
            (id) => connection.sql(FORGET_ARTIFACTS).run(artifactKey(id), unusedSince).changes !== 0,
          ),
        true,
      ),
    async *roots(undoSince, undoAfter = 0) {
      const { objectRoots } = await import('./undo-retention.ts');
      yield* objectRoots(connection, undoSince, undoAfter);
    },
  };
}

function toArtifact({ madeBy, ...row }: Readonly<Record<string, unknown>>): Artifact {
  return {
    ...row,
    ...(madeBy === null ? {} : { madeBy: JSON.parse(madeBy as string) }),
  } as unknown as Artifact;
}

const artifactKey = (id: ObjectId): Uint8Array => Buffer.from(id.slice('sha256:'.length), 'hex');
