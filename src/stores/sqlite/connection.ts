// Owns: one connection to a database file: its version, statements prepared on first use, waits for other processes, failures in our words.
// Refuses: a database of a later version or not of Haft, and to block the event loop for a lock: beyond a few milliseconds it comes back later.
import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { fail } from '../../contract/errors.ts';
import { isBusy, toFailure } from '../store-failure.ts';

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

export function loadSqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process;
  process.emitWarning = ((...args: Parameters<typeof emitWarning>) => {
    if (!isSqliteNotice(args)) Reflect.apply(emitWarning, process, args);
  }) as typeof emitWarning;
  try {
    // Types promise both: an older Node has not.
    const sqlite = process.getBuiltinModule?.('node:sqlite') as typeof import('node:sqlite') | undefined;
    if (sqlite) return sqlite;
    throw fail('node.too_old', `haft needs Node.js 22.19 or newer; this is ${process.versions.node}`);
  } finally {
    process.emitWarning = emitWarning;
  }
}

function isSqliteNotice([warning, options]: readonly unknown[]): boolean {
  const type = typeof options === 'object' ? (options as { type?: unknown } | null)?.type : options;
  return type === 'ExperimentalWarning' && String(warning).startsWith('SQLite ');
}

/** 'Haft' in ASCII; tells our database from any other SQLite file. */
export const APPLICATION_ID = 0x48616674;

/** Of the newest migration: those are text that only a database of an older version needs. */
export const SCHEMA_VERSION = 11;

/** Whether the tables are up to date; migrate-schema.ts brings them there. May find the database locked by another process. */
export function openSchema(connection: Connection): boolean {
  // NORMAL leaves out the sync of every commit (group-commit.ts makes that up for what must be durable) but keeps those that
  // guard the database against a torn log. Folding the log in is the checkpointer's work; at 4000 pages (16 MiB) SQLite
  // does what is left of it by itself, so that the log has a bound.
  connection.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000');
  return versionOf(connection) === SCHEMA_VERSION;
}

export function versionOf(connection: Connection): number {
  const { user_version: version } = connection.sql('PRAGMA user_version').get() as { user_version: number };
  if (version > SCHEMA_VERSION)
    throw fail(
      'store.newer',
      `Cannot open the state: it is of version ${version}, and this Haft knows up to ${SCHEMA_VERSION}; update Haft`,
    );
  const { application_id: application } = connection.sql('PRAGMA application_id').get() as {
    application_id: number;
  };
  if (application !== APPLICATION_ID && !isEmpty(connection))
    throw fail(
      'store.corrupt',
      'Cannot open the state: haft.db is not a Haft database; move it aside and Haft starts a new one',
    );
  return version;
}

function isEmpty(connection: Connection): boolean {
  return connection.sql('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
}
