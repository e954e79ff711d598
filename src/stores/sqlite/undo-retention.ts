// Owns: up to which call undo was given up, by age and by size, and everything in the database that refers to objects.
// Refuses: to remove an object: a sweep does, and only where nothing else refers to it.
import type { Change } from '../../contract/capability.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { GivenUp, UndoKeep } from '../../contract/store.ts';
import { breathe, WINDOW, windows } from './audit-segments.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';
import { GIVEN_UP, raiseMark, readMark } from './retention-marks.ts';
import { createTimeSlice, type TimeSlice } from './time-slice.ts';

interface UndoRetention {
  listPreImages(upTo: number, slice: TimeSlice): Promise<void>;
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
  const listPreImages = async (upTo: number, slice: TimeSlice): Promise<void> => {
    for (;;) {
      const listed = await connection.read(() => readMark(connection, 'listed'));
      if (listed >= upTo) return;
      const most = BATCH * slice.haste;
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
      await slice.pause();
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
      await listPreImages(last, createTimeSlice(0));
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

/** A table that refers to objects: its rows are numbered by `order`, and `idsIn` finds the ids in a row's `value`. */
interface Root {
  readonly last: string;
  /** Takes the first and the last number of a window, and the row after which calls can be undone. */
  readonly rows: string;
  idsIn(value: string, ts: number, undoSince: number): readonly ObjectId[];
}

/** Whoever adds a table that refers to objects adds a line here. */
const ROOTS: readonly Root[] = [
  {
    // Those of intents: undo goes by nothing else.
    last: 'SELECT max(seq) AS last FROM changing_calls',
    rows: `SELECT audit.changes AS value, audit.start_ts AS ts FROM changing_calls JOIN audit USING (seq)
      WHERE seq BETWEEN ? AND ? AND phase = 'intent' AND seq > max(?, ${GIVEN_UP})`,
    idsIn: (changes, ts, undoSince) =>
      ts < undoSince ? [] : preImagesIn(JSON.parse(changes)).map(({ object }) => object),
  },
  {
    // After the rows that they come from: what leaves the audit's table meanwhile is here before.
    last: 'SELECT max(seq) AS last FROM preimages',
    rows: `SELECT 'sha256:' || lower(hex(sha256)) AS value, ts FROM preimages
      WHERE seq BETWEEN ? AND ? AND seq > max(?, ${GIVEN_UP})`,
    idsIn: (object, ts, undoSince) => (ts < undoSince ? [] : [object as ObjectId]),
  },
  {
    last: 'SELECT max(n) AS last FROM runs',
    // With the policy that it was made under, which is kept by the digest that its key names.
    rows: `SELECT json_array(json(inputs), json(result_outputs), json(iif(preimage ->> '$.policyHash' IS NULL, '[]',
      json_array('sha256:' || (preimage ->> '$.policyHash'))))) AS value, 0 AS ts FROM runs WHERE n BETWEEN ? AND ? AND ? IS NOT NULL`,
    idsIn: (lists) => (JSON.parse(lists) as ObjectId[][]).flat(),
  },
  {
    last: 'SELECT max(n) AS last FROM run_outputs',
    rows: 'SELECT artifact AS value, 0 AS ts FROM run_outputs WHERE n BETWEEN ? AND ? AND ? IS NOT NULL',
    idsIn: (artifact) => [artifact as ObjectId],
  },
];

export async function* objectRoots(
  connection: Connection,
  undoSince: number,
  undoAfter: number,
): AsyncGenerator<readonly ObjectId[]> {
  for (const { last, rows, idsIn } of ROOTS) {
    const end = await connection.read(() => connection.sql(last).get()?.last as number | null);
    for (const [from, to] of windows(1, end ?? 0)) {
      const found = await connection.read(() => connection.sql(rows).all(from, to, undoAfter));
      yield found.flatMap(({ value, ts }) => idsIn(value as string, ts as number, undoSince));
      await breathe();
    }
  }
}

/** What `undo` restores from. */
function preImagesIn(
  changes: readonly Change[],
): readonly { readonly object: ObjectId; readonly size: number }[] {
  return changes.flatMap(({ before, stored }) => (stored && before?.type === 'file' ? [before] : []));
}
