// Owns: a SQLite store in a temporary workspace, as the conformance suites and the tests beside this file want it.
// Refuses: to hold tests of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreEnvironment } from '../../testing/store-suite.ts';
import { processIdentity } from '../process-identity.ts';
import { loadSqlite } from './connection.ts';
import { openSqliteStore, type SqliteStore } from './open-sqlite-store.ts';

export interface SqliteEnvironment extends StoreEnvironment {
  readonly store: SqliteStore;
  readonly folder: string;
  reopen(process?: string): Promise<SqliteStore>;
  /** Runs SQL behind the store's back. */
  sql(text: string): void;
}

export async function openSqliteEnvironment(
  options: { patienceMs?: number; segmentRows?: number } = {},
): Promise<SqliteEnvironment> {
  const root = await mkdtemp(join(tmpdir(), 'haft-store-'));
  const folder = join(root, '.haft');
  const livingProcess = processIdentity();
  const opened: SqliteStore[] = [];
  const reopen = async (process = livingProcess): Promise<SqliteStore> => {
    const store = await openSqliteStore({ folder, process, clock: Date, ...options });
    opened.push(store);
    return store;
  };
  const sql = (text: string): void => {
    const database = new (loadSqlite().DatabaseSync)(join(folder, 'haft.db'), { timeout: 5000 });
    database.exec(text);
    database.close();
  };
  return {
    store: await reopen(),
    folder,
    reopen,
    sql,
    livingProcess,
    // The pid is taken, but by a process that started at another time.
    deadProcess: livingProcess.replace(/:\d+:/, ':1:'),
    async tamper(seq) {
      sql(
        `DROP TRIGGER IF EXISTS audit_keeps_values; UPDATE audit SET tool = tool || ' ' WHERE seq = ${seq}`,
      );
    },
    async close() {
      for (const store of opened) await store.close();
      await rm(root, { recursive: true });
    },
  };
}
