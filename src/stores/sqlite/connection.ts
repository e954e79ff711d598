// Owns: one connection to a database file: statements prepared on first use, waits for other processes, failures in our words.
// Refuses: to block the event loop for a lock; beyond a few milliseconds it comes back later.
import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { fail } from '../../contract/errors.ts';
import { isBusy, toFailure } from '../store-failure.ts';
import { loadSqlite } from './load-sqlite.ts';

export interface Connection {
  /** The statement of this text, prepared once. */
  sql(text: string): StatementSync;
  exec(text: string): void;
  /** Ends a transaction that failed. SQLite does so by itself on a full disk and on input/output errors. */
  rollBack(): void;
  /** Runs a read between two groups of writes. */
  read<T>(work: () => T): Promise<T>;
  close(): void;
}

export interface Patience {
  /** How long another process may keep the database locked before the answer is `store.busy`. */
  readonly patienceMs: number;
}

/** How long SQLite itself may sleep for a lock, with the event loop standing still. */
const BLOCKING_MS = 3;

export function connect(file: string, { patienceMs }: Patience): Connection {
  const { DatabaseSync: Database } = loadSqlite();
  const database = new Database(file, { timeout: BLOCKING_MS });
  const prepared = new Map<string, StatementSync>();
  return {
    sql(text) {
      const known = prepared.get(text);
      if (known) return known;
      const statement = database.prepare(text);
      prepared.set(text, statement);
      return statement;
    },
    exec: (text) => database.exec(text),
    rollBack() {
      if (database.isTransaction) database.exec('ROLLBACK');
    },
    async read(work) {
      try {
        return await untilFree(work, patienceMs);
      } catch (thrown) {
        throw toFailure(thrown, 'Cannot read the state');
      }
    },
    close: () => leaveLogBehind(database, file),
  };
}

/** Tries at once, and again while the database is locked by another process. */
export async function untilFree<T>(work: () => T, patienceMs: number): Promise<T> {
  const end = Date.now() + patienceMs;
  for (let tries = 0; ; tries++) {
    try {
      return work();
    } catch (thrown) {
      if (!isBusy(thrown)) throw thrown;
      if (Date.now() > end) throw busy(patienceMs);
    }
    await new Promise((resolve) => setTimeout(resolve, backoff(tries)));
  }
}

/** 1 ms at first, up to 20 ms, spread so that processes do not meet again. */
export function backoff(tries: number): number {
  return Math.min(20, 2 ** Math.min(tries, 5)) * (0.5 + Math.random() / 2);
}

export function busy(patienceMs: number): Error {
  return fail('store.busy', `Cannot use the state: another process kept it locked for ${patienceMs} ms`);
}

/** From this size on a clean end is worth its four syncs. */
const LOG_WORTH_FOLDING = 64 * 4096;

/**
 * The last one to close folds the write-ahead log into the database and deletes it: two syncs, and two more for
 * whoever comes next and starts a new log. For a program that lives for one call that is most of its life. A
 * read-only connection cannot do that, so when one closes last, a small log stays for the next process to go on with.
 */
function leaveLogBehind(database: DatabaseSync, file: string): void {
  const { DatabaseSync: Database } = loadSqlite();
  let last: DatabaseSync | undefined;
  try {
    const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
    if (log && log.size < LOG_WORTH_FOLDING) {
      last = new Database(file, { readOnly: true });
      // It only has to read something: this one spares it the schema.
      last.prepare('PRAGMA user_version').get();
    }
  } catch {
    // Then the ordinary end is the right one.
  }
  database.close();
  last?.close();
}
