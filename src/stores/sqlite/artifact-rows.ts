// Owns: the artifacts table: which objects are artifacts, and when each was last used.
// Refuses: bytes; a row is written once they are durable, and goes before they go.
import type { Artifact, ArtifactRows } from '../../contract/artifacts.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

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
const FORGET = 'DELETE FROM artifacts WHERE sha256 = ? AND used_ts < ?';

export function createArtifactRows(
  connection: Connection,
  group: GroupCommit,
  clock: { now(): number },
): ArtifactRows {
  const get = (id: ObjectId): Artifact | undefined => {
    const row = connection.sql(GET).get(key(id));
    return row && toArtifact(row);
  };
  const placeOf = (id: ObjectId): number => {
    const row = connection.sql(PLACE).get(key(id));
    if (row) return row.n as number;
    throw fail('artifact.unknown', `Cannot list what is older than ${id}: there is no such artifact`);
  };
  return {
    register: ({ id, kind, size, files }) =>
      group.enqueue(() => {
        const now = clock.now();
        connection.sql(REGISTER).run(key(id), kind, size, files, now, now);
        if (kind === 'tree') connection.sql(AS_TREE).run(size, files, key(id));
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
        for (const id of ids) connection.sql(USE).run(clock.now(), key(id));
      }),
    forget: (ids, unusedSince) =>
      group.enqueue(
        () => ids.filter((id) => connection.sql(FORGET).run(key(id), unusedSince).changes !== 0),
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

const key = (id: ObjectId): Uint8Array => Buffer.from(id.slice('sha256:'.length), 'hex');
