// Owns: everything in the database that refers to objects, so that a sweep leaves those alone.
// Refuses: to hold them all in memory; they come window by window, and calls get their turn in between.
import type { Change } from '../../contract/capability.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { breathe, windows } from './audit-pages.ts';
import type { Connection } from './connection.ts';
import { GIVEN_UP } from './retention-marks.ts';

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
export function preImagesIn(
  changes: readonly Change[],
): readonly { readonly object: ObjectId; readonly size: number }[] {
  return changes.flatMap(({ before, stored }) => (stored && before?.type === 'file' ? [before] : []));
}
