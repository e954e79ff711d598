// Owns: up to which call undo was given up: by age, and by how large the pre-images of the newest calls are together.
// Refuses: to remove an object: a sweep does, and only where nothing else refers to it.
import type { GivenUp, UndoKeep } from '../../contract/store.ts';
import { breathe, WINDOW } from './audit-pages.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';
import { preImagesIn } from './object-roots.ts';
import { createPace, type Pace } from './pace.ts';
import { raiseMark, readMark } from './retention-marks.ts';

export interface UndoRetention {
  listPreImages(upTo: number, pace: Pace): Promise<void>;
  giveUp(keep: UndoKeep, dryRun: boolean): Promise<GivenUp>;
}

/** What is kept of a call beside the bytes: rows, in several tables. */
const LEAST_BYTES = 512;

/** Rows that one transaction writes, and over how many it looks for those to delete. */
const BATCH = 256;
const FORGOTTEN = 2048;

const LAST = 'SELECT coalesce(max(seq), 0) AS last FROM changing_calls';
const CHANGES = `SELECT seq, audit.changes AS changes, audit.start_ts AS ts FROM changing_calls JOIN audit USING (seq)
  WHERE seq > ? AND seq <= ? AND phase = 'intent' ORDER BY seq LIMIT ?`;
const LIST = 'INSERT OR IGNORE INTO preimages (seq, sha256, size, ts) VALUES (?, ?, ?, ?)';
const NEWEST = `SELECT seq, lower(hex(sha256)) AS sha256, size, ts FROM preimages WHERE seq < ? AND seq > ?
  ORDER BY seq DESC LIMIT ${WINDOW}`;
const REST =
  'SELECT count(DISTINCT seq) AS calls, coalesce(sum(size), 0) AS bytes FROM preimages WHERE seq <= ?';
const FIRST = 'SELECT min(seq) AS first FROM preimages';
const FORGET = 'DELETE FROM preimages WHERE seq BETWEEN ? AND ?';
const FIRST_PLACE = 'SELECT min(seq) AS first FROM changing_calls';
const FORGET_PLACES = 'DELETE FROM changing_calls WHERE seq BETWEEN ? AND ?';
const ARCHIVED = 'SELECT last FROM audit_segments ORDER BY first DESC LIMIT 1';

export function createUndoRetention(connection: Connection, group: GroupCommit): UndoRetention {
  const listPreImages = async (upTo: number, pace: Pace): Promise<void> => {
    for (;;) {
      const listed = await connection.read(() => readMark(connection, 'listed'));
      if (listed >= upTo) return;
      const most = BATCH * pace.haste;
      const rows = await connection.read(() => connection.sql(CHANGES).all(listed, upTo, most));
      const end = rows.length < most ? upTo : (rows.at(-1)!.seq as number);
      await group.enqueue(() => {
        for (const { seq, changes, ts } of rows) {
          for (const { object, size } of preImagesIn(JSON.parse(changes as string)))
            connection
              .sql(LIST)
              .run(seq as number, Buffer.from(object.slice('sha256:'.length), 'hex'), size, ts as number);
        }
        raiseMark(connection, 'listed', end);
      });
      await pace.pause();
    }
  };

  /** From the newest backwards: the first call that is too old, or with which it is too much. */
  const horizonOf = async ({ since, bytes }: UndoKeep): Promise<number> => {
    const given = await connection.read(() => readMark(connection, 'given_up'));
    const counted = new Set<string>();
    let total = 0;
    let before = Number.MAX_SAFE_INTEGER;
    for (;;) {
      const rows = await connection.read(() => connection.sql(NEWEST).all(before, given));
      for (const { seq, sha256, size, ts } of rows) {
        // Equal bytes are kept once.
        total += LEAST_BYTES + (counted.has(sha256 as string) ? 0 : (size as number));
        counted.add(sha256 as string);
        if ((ts as number) < since || total > bytes) return seq as number;
      }
      if (rows.length < WINDOW) return given;
      // A call whose pre-images go over the end of the window is counted again, from its first.
      before = (rows.at(-1)!.seq as number) + (rows[0]!.seq === rows.at(-1)!.seq ? 0 : 1);
      await breathe();
    }
  };

  const forget = async (upTo: number): Promise<void> => {
    const tables = [
      [FIRST, FORGET, upTo],
      [FIRST_PLACE, FORGET_PLACES, Math.min(upTo, (connection.sql(ARCHIVED).get()?.last as number) ?? 0)],
    ] as const;
    for (const [find, remove, end] of tables) {
      for (;;) {
        const first = await connection.read(() => connection.sql(find).get()?.first as number | null);
        if (first === null || first > end) break;
        await group.enqueue(() => connection.sql(remove).run(first, Math.min(end, first + FORGOTTEN - 1)));
        await breathe();
      }
    }
  };

  return {
    listPreImages,
    async giveUp(keep, dryRun) {
      await group.settled();
      const last = await connection.read(() => connection.sql(LAST).get()?.last as number);
      await listPreImages(last, createPace(0));
      const horizon = await horizonOf(keep);
      const rest = await connection.read(() => connection.sql(REST).get(horizon));
      const { calls, bytes } = rest as { calls: number; bytes: number };
      const given: GivenUp = { calls, bytes, upTo: horizon };
      if (dryRun) return given;
      if (calls > 0) await group.enqueue(() => raiseMark(connection, 'given_up', horizon), true);
      await forget(horizon);
      return given;
    },
  };
}
