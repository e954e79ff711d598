// Owns: proving that the audit is, byte for byte, the chain that was written, or naming the first row that is not.
// Refuses: to trust any column, its type included; only what it recomputes counts.
import type { AuditHead, AuditVerdict } from '../../contract/store.ts';
import type { Stored, StoredRow } from '../audit-row.ts';
import { AUDIT_COLUMNS, GENESIS, HASH, hashRow, misfit, PREV, SEQ } from '../audit-row.ts';
import type { AuditSegments } from './audit-segments.ts';
import { breathe, fetchRows, isProblem, named, selectRows, WINDOW } from './audit-segments.ts';
import type { Connection } from './connection.ts';
import { decodeLines, readLines, type Segment } from './segment-file.ts';

/** Rows that are appended while this runs are not looked at. */
export async function verifyAudit(
  connection: Connection,
  segments: AuditSegments,
  kept: AuditHead | undefined,
): Promise<AuditVerdict> {
  const ends = await connection.read(() => connection.sql(ENDS).get() as { first: number; last: number });
  if (ends.first < 1) return bad(ends.first, 'it stands before the first row');

  let head: AuditHead = { count: 0, hash: GENESIS };
  let broken = keptProblem(kept, head);
  const follow = (rows: readonly StoredRow[], problemIn: (row: StoredRow) => string | undefined) => {
    for (const row of rows) {
      const problem = problemIn(row);
      if (problem !== undefined) return bad(head.count + 1, problem);
      head = { count: head.count + 1, hash: row[HASH] as string };
      broken ??= keptProblem(kept, head);
    }
    return broken;
  };

  while (head.count < ends.last) {
    const from = head.count + 1;
    const to = Math.min(ends.last, from + WINDOW - 1);
    const rows = await connection.read(() => readExactly(connection, from, to));
    // Looked for after the rows: what is not there by then was in a segment before it left the table.
    const archived = await connection.read(() => segmentAt(segments, from));
    const found = archived
      ? await followSegment(segments.folder, archived, head, follow)
      : follow(rows, (row) => problemOf(connection, row, head));
    if (found) return found;
    if (head.count < from) return bad(from, 'it is missing');
    await breathe();
  }
  if (broken) return broken;
  if (kept && kept.count > head.count)
    return bad(head.count + 1, `it is missing: the kept head counts ${kept.count} rows`);
  return { ok: true, head };
}

type Follow = (
  rows: readonly StoredRow[],
  problemIn: (row: StoredRow) => string | undefined,
) => AuditVerdict | undefined;

/** The segment that holds a row, or that should. */
const segmentAt = (segments: AuditSegments, seq: number): Segment | undefined => {
  const [holding] = segments.within(seq, seq);
  return holding;
};

async function followSegment(
  folder: string,
  segment: Segment,
  before: AuditHead,
  follow: Follow,
): Promise<AuditVerdict | undefined> {
  const seq = before.count + 1;
  if (segment.first !== seq) return bad(seq, `${named(segment)} does not begin with it`);
  if (segment.prev !== before.hash)
    return bad(seq, `${named(segment)} does not follow the row before it (prev is another hash)`);
  try {
    const text = await readLines(folder, segment);
    let at = seq;
    for (const rows of decodeLines(text, segment)) {
      if (at === seq && rows[0]?.[HASH] !== segment.first_hash)
        return bad(seq, `${named(segment)}: its first row is not the one that was written`);
      const found = follow(rows, () => undefined);
      if (found) return found;
      at += rows.length;
      await breathe();
    }
    return undefined;
  } catch (thrown) {
    if (!isProblem(thrown)) throw thrown;
    return bad(seq, `${named(segment)}: ${thrown.message}`);
  }
}

/** Kept within what JavaScript can count, whatever somebody made of the numbers. */
const ENDS = `SELECT coalesce(max(-1, (SELECT min(seq) FROM audit)), 1) AS first,
  max(coalesce(min(${Number.MAX_SAFE_INTEGER}, (SELECT max(seq) FROM audit)), 0),
    -- The newest row never goes into a segment.
    coalesce((SELECT last + 1 FROM audit_segments ORDER BY first DESC LIMIT 1), 0)) AS last`;

/**
 * As numbers, the integer 1 and the real 1.0 are the same, and a huge integer cannot be read at all. As big integers
 * they differ: what comes as anything else, or is too big, is turned into what no row holds.
 */
export function readExactly(connection: Connection, from: number, to: number): StoredRow[] {
  const statement = selectRows(connection, 'WHERE seq BETWEEN ? AND ? ORDER BY seq /* exactly */');
  statement.setReadBigInts(true);
  const rows = fetchRows(statement, from, to);
  for (const row of rows) {
    for (const at of INTEGERS) {
      const value: unknown = row[at];
      if (value !== null) row[at] = typeof value === 'bigint' ? Number(value) : Number.NaN;
    }
  }
  return rows;
}

const INTEGERS = Object.values(AUDIT_COLUMNS).flatMap((type, at) => (type.startsWith('integer') ? [at] : []));

export function problemOf(connection: Connection, row: StoredRow, before: AuditHead): string | undefined {
  const wrong = misfit(row);
  if (wrong !== undefined) return `the value of ${wrong} is not of the type that was written`;
  if (row[SEQ] !== before.count + 1) return 'it is missing';
  if (row[PREV] !== before.hash) return 'it does not follow the row before it (prev is another hash)';
  if (row[HASH] !== hashRow(row)) return 'its columns do not match its hash';
  if (row.some(mayHideBytes) && !bytesMatch(connection, row))
    return 'its text is not the bytes that were written';
  return undefined;
}

/** Broken UTF-8 reads as U+FFFD, so where a text holds one, the bytes themselves must be looked at. */
function mayHideBytes(value: Stored): boolean {
  return typeof value === 'string' && value.includes('\uFFFD');
}

function bytesMatch(connection: Connection, row: StoredRow): boolean {
  const columns = Object.keys(AUDIT_COLUMNS);
  const raw = connection
    .sql(
      `SELECT ${columns.map((name) => `CAST(${name} AS BLOB) AS ${name}`).join(', ')} FROM audit WHERE seq = ?`,
    )
    .get(row[SEQ] as number);
  return columns.every((name, i) => {
    const bytes = raw?.[name];
    return row[i] === null ? bytes === null : Buffer.from(String(row[i])).equals(bytes as Uint8Array);
  });
}

function keptProblem(kept: AuditHead | undefined, head: AuditHead): AuditVerdict | undefined {
  if (kept?.count !== head.count || kept.hash === head.hash) return undefined;
  return bad(head.count, 'its hash is not that of the kept head: the chain was rewritten');
}

function bad(seq: number, problem: string): AuditVerdict {
  return { ok: false, seq, problem };
}
