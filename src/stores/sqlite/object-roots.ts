// Owns: everything in the database that refers to objects, so that a sweep leaves those alone.
// Refuses: to hold them all in memory; they come window by window, and calls get their turn in between.
import type { Change } from '../../contract/capability.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { breathe, windows } from './audit-pages.ts';
import type { Connection } from './connection.ts';

/** A table that refers to objects: its rows are numbered by `order`, and `idsIn` finds the ids in a row's `value`. */
interface Root {
  readonly last: string;
  /** Takes the first and the last number of a window. */
  readonly rows: string;
  idsIn(value: string, ts: number, undoSince: number): readonly ObjectId[];
}

/** Whoever adds a table that refers to objects adds a line here. */
const ROOTS: readonly Root[] = [
  {
    last: 'SELECT max(seq) AS last FROM changing_calls',
    rows: `SELECT audit.changes AS value, audit.start_ts AS ts FROM changing_calls JOIN audit USING (seq)
      WHERE seq BETWEEN ? AND ?`,
    idsIn: (changes, ts, undoSince) => (ts < undoSince ? [] : preImagesIn(JSON.parse(changes))),
  },
  {
    last: 'SELECT max(n) AS last FROM runs',
    // With the policy that it was made under, which is kept by the digest that its key names.
    rows: `SELECT json_array(json(inputs), json(result_outputs), json(iif(preimage ->> '$.policyHash' IS NULL, '[]',
      json_array('sha256:' || (preimage ->> '$.policyHash'))))) AS value, 0 AS ts FROM runs WHERE n BETWEEN ? AND ?`,
    idsIn: (lists) => (JSON.parse(lists) as ObjectId[][]).flat(),
  },
  {
    last: 'SELECT max(n) AS last FROM run_outputs',
    rows: 'SELECT artifact AS value, 0 AS ts FROM run_outputs WHERE n BETWEEN ? AND ?',
    idsIn: (artifact) => [artifact as ObjectId],
  },
];

export async function* objectRoots(
  connection: Connection,
  undoSince: number,
): AsyncGenerator<readonly ObjectId[]> {
  for (const { last, rows, idsIn } of ROOTS) {
    const end = await connection.read(() => connection.sql(last).get()?.last as number | null);
    for (const [from, to] of windows(1, end ?? 0)) {
      const found = await connection.read(() => connection.sql(rows).all(from, to));
      yield found.flatMap(({ value, ts }) => idsIn(value as string, ts as number, undoSince));
      await breathe();
    }
  }
}

/** What `undo` restores from. */
function preImagesIn(changes: readonly Change[]): readonly ObjectId[] {
  return changes.flatMap(({ before, stored }) => (stored && before?.type === 'file' ? [before.object] : []));
}
