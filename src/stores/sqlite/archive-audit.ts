// Owns: making the database smaller: the oldest rows of the audit go into a segment (file, record, and only then the deletion), and the file is written anew where much of it is free.
// Refuses: to move what is not, row by row, the chain that was written, and to hold the database for more than a few rows.
import { statSync } from 'node:fs';
import { fail } from '../../contract/errors.ts';
import type { AuditHead, AuditKeep } from '../../contract/store.ts';
import { GENESIS, HASH, type StoredRow } from '../audit-row.ts';
import { toFailure } from '../store-failure.ts';
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
  writeText,
} from './segment-file.ts';
import { createTimeSlice, type TimeSlice } from './time-slice.ts';
import { problemOf, readExactly } from './verify-audit.ts';

export interface ArchiveSite {
  readonly connection: Connection;
  readonly group: GroupCommit;
  readonly segments: AuditSegments;
  readonly process: string;
  /** Rows of one segment. */
  readonly segmentRows: number;
  /** Lists the pre-images of rows up to this one, which are looked for in the table of the audit. */
  listPreImages(upTo: number, slice: TimeSlice): Promise<void>;
}

/** Characters: a segment of long rows has fewer of them, so that it can be held in memory. */
const LONGEST = 32 * 1024 * 1024;

/** Rows that are read at once: about two milliseconds. */
const BATCH = 256;

/** Deleting is five times as quick. */
const DELETED = 1024;

/** What deleting a row writes to the log, about: its page, which others share. */
const DELETED_BYTES = 800;

/** With so many segments due, this takes as much of the event loop as all calls together. */
const FAR_BEHIND = 8;

/** Segments that are written beside each other where so many are due: each waits for the disk, and for a thread. */
const AT_ONCE = 4;

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

/** One segment, or several where many are due, of fewer rows where they are long; answers how many went into them. */
export async function archiveSegments(site: ArchiveSite, keep: AuditKeep): Promise<number> {
  const due = () => site.connection.read(() => countArchivable(site, keep) / site.segmentRows);
  await site.group.settled();
  const slice = createTimeSlice((await due()) / FAR_BEHIND);
  await deleteArchived(site, slice);
  // Where somebody else was faster there may be more: the border moved on, so this ends.
  for (let count = await due(); count > 0; count = await due()) {
    const rows = await tryNext(site, Math.min(AT_ONCE, Math.ceil(count / 2)), slice);
    if (rows > 0) return rows;
  }
  return 0;
}

/** 0 where somebody else archived these rows meanwhile. */
async function tryNext(site: ArchiveSite, count: number, slice: TimeSlice): Promise<number> {
  const { connection, group, segments } = site;
  const border = await connection.read(() => endOf(segments));
  const writing = await startWriting(site, border, count, slice);
  const done = await settle(writing, segments.folder, slice);
  const last = done.at(-1)?.last;
  if (last === undefined) return 0;
  await site.listPreImages(last, slice);
  const recorded = await group.enqueue(() => done.filter((one) => record(site, one)), true);
  if (recorded.length === 0) return 0;
  await deleteArchived(site, slice);
  return recorded.at(-1)!.last - border.count;
}

/** Row by row one after the other; their files are written meanwhile. None where somebody else moved the border. */
async function startWriting(
  site: ArchiveSite,
  border: AuditHead,
  count: number,
  slice: TimeSlice,
): Promise<readonly Promise<Segment>[]> {
  const { segments, process, segmentRows } = site;
  const writing: Promise<Segment>[] = [];
  let head = border;
  try {
    while (writing.length < count) {
      const rows = await readWhole(site, border, head, slice);
      if (!rows) break;
      const text = await writeText(rows, slice);
      const written = writeSegment(segments.folder, rows, text, process);
      // Waited for later, with the others.
      written.catch(() => {});
      writing.push(written);
      head = { count: head.count + rows.length, hash: rows.at(-1)![HASH] as string };
      if (rows.length < segmentRows) break;
    }
  } catch (thrown) {
    // What comes before a row that cannot be moved is moved.
    if (writing.length === 0) throw thrown;
  }
  return writing;
}

const endOf = (segments: AuditSegments): AuditHead => {
  const end = segments.end();
  return end ? { count: end.last, hash: end.hash } : { count: 0, hash: GENESIS };
};

/** The rows of a segment, undefined where the border is another by now. */
async function readWhole(
  { connection, segments, segmentRows: count }: ArchiveSite,
  border: AuditHead,
  before: AuditHead,
  slice: TimeSlice,
): Promise<StoredRow[] | undefined> {
  const rows: StoredRow[] = [];
  let head = before;
  let length = 0;
  while (rows.length < count && length < LONGEST) {
    const from = head.count + 1;
    const to = Math.min(before.count + count, from + BATCH - 1);
    const read = await connection.read(() => readExactly(connection, from, to));
    if ((await connection.read(() => endOf(segments))).count !== border.count) return undefined;
    for (const row of read) {
      const problem = problemOf(connection, row, head);
      if (problem !== undefined) throw broken(head.count + 1, problem);
      head = { count: head.count + 1, hash: row[HASH] as string };
      rows.push(row);
      length += lengthOf(row);
      if (length >= LONGEST) return rows;
    }
    if (head.count < to) throw broken(head.count + 1, 'it is missing');
    await slice.pause();
  }
  return rows;
}

const lengthOf = (row: StoredRow): number =>
  row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0);

const broken = (seq: number, problem: string) =>
  fail('audit.broken', `Cannot archive the audit: row ${seq}: ${problem}. It stays as it is`, { seq });

/** Each is read back before a row of it is deleted: it leads to the same hash. Those before one that failed count. */
async function settle(
  writing: readonly Promise<Segment>[],
  folder: string,
  slice: TimeSlice,
): Promise<readonly Segment[]> {
  const reading = writing.map(async (one) => {
    const segment = await one;
    return { segment, text: await readLines(folder, segment) };
  });
  const done: Segment[] = [];
  let failure: unknown;
  for (const result of await Promise.allSettled(reading)) {
    try {
      if (result.status === 'rejected') throw result.reason;
      const { segment, text } = result.value;
      for (const batch of decodeLines(text, segment)) {
        if (batch.length > 0) await slice.pause();
      }
      if (failure === undefined) done.push(segment);
    } catch (thrown) {
      failure ??= thrown;
    }
  }
  if (done.length > 0 || failure === undefined) return done;
  throw isProblem(failure)
    ? fail('file.io', `Cannot archive the audit: what was written cannot be read back: ${failure.message}`)
    : toFailure(failure, 'Cannot archive the audit');
}

/** Within a transaction. Another process may have archived these rows meanwhile. */
function record({ connection, segments }: ArchiveSite, segment: Segment): boolean {
  const isNext = endOf(segments).hash === segment.prev && isThere(segments.folder, segment);
  if (isNext) {
    const { first, last, prev, first_hash, hash, file, sha256, size } = segment;
    connection.sql(RECORD).run(first, last, prev, first_hash, hash, file, sha256, size);
  } else if (!connection.sql(IS_RECORDED).get(segment.file)) removeSegment(segments.folder, segment);
  removeStray(segments.folder);
  return isNext;
}

/** Also those that a process left that died after it recorded them. */
async function deleteArchived({ connection, group, segments }: ArchiveSite, slice: TimeSlice): Promise<void> {
  for (;;) {
    const { first, end } = await connection.read(() => ({
      first: (connection.sql(LEFT).get()?.first as number | null) ?? Number.POSITIVE_INFINITY,
      end: segments.end()?.last ?? 0,
    }));
    if (first > end || first < 1) return;
    const to = Math.min(end, first + DELETED * slice.haste - 1);
    const remove = () => {
      connection.sql(DELETE).run(first, to);
      connection.sql(FORGET_PLACES).run(first, to, readMark(connection, 'given_up'));
    };
    await group.enqueue(remove, false, (to - first + 1) * DELETED_BYTES);
    await slice.pause();
  }
}

/** Those of calls that can be undone stay, so that they are found at once. */
const FORGET_PLACES = 'DELETE FROM changing_calls WHERE seq BETWEEN ? AND ? AND seq <= ?';

/** Less than this, or than half of the file, is left for the rows to come. */
const WORTH = 8 * 1024 * 1024;

/**
 * As in group-commit.ts, text that runs as it stands. Where another checkpoint is under way SQLite waits for nothing and says
 * `busy`, whatever the timeout: it is asked again.
 */
const THREAD = `
  process.emitWarning = () => {};
  const { parentPort, workerData } = require('node:worker_threads');
  const { DatabaseSync } = require('node:sqlite');
  const { file, sql, patienceMs } = workerData;
  const database = new DatabaseSync(file, { timeout: 100 });
  try {
    database.exec('PRAGMA synchronous = NORMAL;' + sql);
    const fold = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
    const end = Date.now() + patienceMs;
    while (fold.get().busy !== 0 && Date.now() < end)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  } catch {}
  database.close();
  parentPort.postMessage('done');
`;

/** On a disk that is busy. */
const PATIENCE_MS = 3000;

interface Pages {
  readonly bytes: number;
  readonly free: number;
}

/** Within a read. */
export function pagesOf(connection: Connection): Pages {
  const value = (name: string) => Object.values(connection.sql(`PRAGMA ${name}`).get() ?? {})[0] as number;
  const size = value('page_size');
  return { bytes: value('page_count') * size, free: value('freelist_count') * size };
}

/** Answers by how many bytes the file is smaller; 0 where it is not worth it, too large, or somebody was in the way. */
export async function shrinkDatabase(file: string, connection: Connection, largest: number): Promise<number> {
  const { bytes, free } = await connection.read(() => pagesOf(connection));
  if (free < WORTH || free < bytes / 2 || bytes - free > largest) return 0;
  await foldLog(file);
  const before = statSync(file).size;
  await inThread(file, 'VACUUM');
  return Math.max(0, before - statSync(file).size);
}

/** Puts all of the write-ahead log into the database and empties it, unless somebody is in the way. */
export const foldLog = (file: string): Promise<void> => inThread(file, '');

/** Runs the SQL, and folds the log after it. */
async function inThread(file: string, sql: string): Promise<void> {
  const { Worker: Thread } = process.getBuiltinModule('node:worker_threads');
  const thread = new Thread(THREAD, { eval: true, workerData: { file, sql, patienceMs: PATIENCE_MS } });
  await new Promise<void>((resolve) => {
    thread.once('message', () => resolve());
    thread.once('error', () => resolve());
    thread.once('exit', () => resolve());
  });
  await thread.terminate();
}
