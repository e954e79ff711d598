// Owns: making the database file smaller, in a thread of its own, where much of it is free.
// Refuses: a database whose used part is so large that calls would notice: they wait while it is written anew.
import { statSync } from 'node:fs';
import type { Connection } from './connection.ts';

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
