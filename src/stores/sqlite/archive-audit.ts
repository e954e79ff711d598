// Owns: moving the oldest rows of the audit from its table into a segment: file, record, and only then the deletion.
// Refuses: to move what is not, row by row, the chain that was written, and to hold the database for more than a few rows.
import { fail } from '../../contract/errors.ts';
import type { AuditHead, AuditKeep } from '../../contract/store.ts';
import { GENESIS, HASH, type StoredRow } from '../audit-row.ts';
import { toFailure } from '../store-failure.ts';
import { breathe } from './audit-pages.ts';
import { type AuditSegments, isProblem } from './audit-segments.ts';
import { HEAD } from './audit-writer.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';
import { readMark } from './retention-marks.ts';
import {
  decodeLines,
  isThere,
  readLines,
  removeSegment,
  removeStray,
  type Segment,
  writeSegment,
} from './segment-file.ts';
import { problemOf, readExactly } from './verify-audit.ts';

export interface ArchiveSite {
  readonly connection: Connection;
  readonly group: GroupCommit;
  readonly segments: AuditSegments;
  readonly process: string;
  /** Rows of one segment. */
  readonly segmentRows: number;
  /** Lists the pre-images of rows up to this one, which are looked for in the table of the audit. */
  listPreImages(upTo: number): Promise<void>;
}

/** Characters: a segment of long rows has fewer of them, so that it can be held in memory. */
const LONGEST = 32 * 1024 * 1024;

/** Rows that are read, or deleted, at once: about two milliseconds. */
const BATCH = 256;

const OLDEST_OPEN = 'SELECT min(seq) AS seq FROM open_intents';
const BEGUN = 'SELECT start_ts AS ts FROM audit WHERE seq = ?';
const RECORD = `INSERT INTO audit_segments (first, last, prev, first_hash, hash, file, sha256, size)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const IS_RECORDED = 'SELECT 1 FROM audit_segments WHERE file = ?';
const LEFT = 'SELECT min(seq) AS first FROM audit';
const DELETE = 'DELETE FROM audit WHERE seq BETWEEN ? AND ?';

/** How many rows are due, in whole segments. */
export function countArchivable({ connection, segments, segmentRows }: ArchiveSite, keep: AuditKeep): number {
  const end = segments.end()?.last ?? 0;
  const head = (connection.sql(HEAD).get()?.count as number | undefined) ?? 0;
  const open = connection.sql(OLDEST_OPEN).get()?.seq as number | null;
  // The newest row stays, whatever is asked: the chain goes on from it.
  const last = Math.min(head - 1, (open ?? Number.POSITIVE_INFINITY) - 1);
  let due = end;
  while (due + segmentRows <= last) {
    const next = due + segmentRows;
    const begun = connection.sql(BEGUN).get(next)?.ts as number | undefined;
    if (head - next < keep.rows && !(begun !== undefined && begun < keep.since)) break;
    due = next;
  }
  return due - end;
}

/** One segment, of fewer rows where they are long; answers how many went into it. */
export async function archiveSegment(site: ArchiveSite, keep: AuditKeep): Promise<number> {
  await deleteArchived(site);
  await site.group.settled();
  // Where somebody else was faster there may be more: the border moved on, so this ends.
  while ((await site.connection.read(() => countArchivable(site, keep))) > 0) {
    const rows = await tryNext(site);
    if (rows > 0) return rows;
  }
  return 0;
}

/** 0 where somebody else archived these rows meanwhile. */
async function tryNext(site: ArchiveSite): Promise<number> {
  const { connection, group, segments, process, segmentRows } = site;
  const before = await connection.read(() => endOf(segments));
  const rows = await readWhole(site, before, segmentRows);
  if (!rows) return 0;
  await site.listPreImages(before.count + rows.length);
  const segment = await written(segments.folder, rows, process);
  const recorded = await group.enqueue(() => record(site, before, segment), true);
  if (!recorded) return 0;
  await deleteArchived(site);
  return rows.length;
}

const endOf = (segments: AuditSegments): AuditHead => {
  const end = segments.end();
  return end ? { count: end.last, hash: end.hash } : { count: 0, hash: GENESIS };
};

async function readWhole(
  { connection, segments }: ArchiveSite,
  before: AuditHead,
  count: number,
): Promise<StoredRow[] | undefined> {
  const rows: StoredRow[] = [];
  let head = before;
  let length = 0;
  while (rows.length < count && length < LONGEST) {
    const from = head.count + 1;
    const to = Math.min(before.count + count, from + BATCH - 1);
    const read = await connection.read(() => readExactly(connection, from, to));
    if ((await connection.read(() => endOf(segments))).count !== before.count) return undefined;
    for (const row of read) {
      const problem = problemOf(connection, row, head);
      if (problem !== undefined) throw broken(head.count + 1, problem);
      head = { count: head.count + 1, hash: row[HASH] as string };
      rows.push(row);
      length += lengthOf(row);
      if (length >= LONGEST) return rows;
    }
    if (head.count < to) throw broken(head.count + 1, 'it is missing');
    await breathe();
  }
  return rows;
}

const lengthOf = (row: StoredRow): number =>
  row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0);

const broken = (seq: number, problem: string) =>
  fail('audit.broken', `Cannot archive the audit: row ${seq}: ${problem}. It stays as it is`, { seq });

/** Read back before a row is deleted: it leads to the same hash. */
async function written(folder: string, rows: readonly StoredRow[], process: string): Promise<Segment> {
  try {
    const segment = await writeSegment(folder, rows, process);
    for (const batch of decodeLines(await readLines(folder, segment), segment)) {
      if (batch.length > 0) await breathe();
    }
    return segment;
  } catch (thrown) {
    throw isProblem(thrown)
      ? fail('file.io', `Cannot archive the audit: what was written cannot be read back: ${thrown.message}`)
      : toFailure(thrown, 'Cannot archive the audit');
  }
}

/** Within a transaction. Another process may have archived these rows meanwhile. */
function record({ connection, segments }: ArchiveSite, before: AuditHead, segment: Segment): boolean {
  const isNext = endOf(segments).hash === before.hash && isThere(segments.folder, segment);
  if (isNext) {
    const { first, last, prev, first_hash, hash, file, sha256, size } = segment;
    connection.sql(RECORD).run(first, last, prev, first_hash, hash, file, sha256, size);
  } else if (!connection.sql(IS_RECORDED).get(segment.file)) removeSegment(segments.folder, segment);
  removeStray(segments.folder);
  return isNext;
}

/** Also those that a process left that died after it recorded them. */
async function deleteArchived({ connection, group, segments }: ArchiveSite): Promise<void> {
  for (;;) {
    const { first, end } = await connection.read(() => ({
      first: (connection.sql(LEFT).get()?.first as number | null) ?? Number.POSITIVE_INFINITY,
      end: segments.end()?.last ?? 0,
    }));
    if (first > end || first < 1) return;
    const to = Math.min(end, first + BATCH - 1);
    await group.enqueue(() => {
      connection.sql(DELETE).run(first, to);
      connection.sql(FORGET_PLACES).run(first, to, readMark(connection, 'given_up'));
    });
    await breathe();
  }
}

/** Those of calls that can be undone stay, so that they are found at once. */
const FORGET_PLACES = 'DELETE FROM changing_calls WHERE seq BETWEEN ? AND ? AND seq <= ?';
