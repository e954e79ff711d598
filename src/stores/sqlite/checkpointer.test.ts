import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { entry } from '../../testing/store/entries.ts';
import { openSqliteEnvironment, type SqliteEnvironment } from './environment-for-tests.ts';

const LOG_BOUND = 4000 * (4096 + 24) + 1_000_000;

const threads = (): number => readdirSync('/proc/self/task').length;

describe('the checkpointer', () => {
  it('folds a growing log into the database while rows are appended, and the log stays bounded', () =>
    withStore(async ({ store, folder }) => {
      await appendAll(store, 3000);
      // From here on only the thread writes to the database file.
      const size = (name: string): number => statSync(join(folder, name)).size;
      while (size('haft.db') < 1_000_000) await appendAll(store, 200);
      await appendAll(store, 25_000);
      assert.ok(size('haft.db-wal') < LOG_BOUND, `${size('haft.db-wal')} bytes`);
      assert.equal((await store.audit.verify()).ok, true);
    }));

  it('does not keep a process alive that ends without closing its store', () =>
    withStore(async ({ folder }) => {
      const urlOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
      const code = `
        import { openSqliteStore } from ${urlOf('./open-sqlite-store.ts')};
        import { entry } from ${urlOf('../../testing/store/entries.ts')};
        const store = await openSqliteStore({ folder: ${JSON.stringify(folder)}, process: '1::', clock: Date });
        for (let i = 0; i < 5; i++)
          await Promise.all(Array.from({ length: 1500 }, () => store.audit.append(entry(), false)));`;
      const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], { timeout: 60_000 });
      assert.equal(child.status, 0);
    }));

  it('starts no thread for a process that writes little', () =>
    withStore(async ({ store }) => {
      await store.audit.append(entry(), true);
      const before = threads();
      await appendAll(store, 500);
      assert.equal(threads(), before);
    }));
});

async function appendAll(store: SqliteEnvironment['store'], rows: number): Promise<void> {
  await Promise.all(Array.from({ length: rows }, () => store.audit.append(entry(), false)));
}

async function withStore(test: (env: SqliteEnvironment) => Promise<void>): Promise<void> {
  const env = await openSqliteEnvironment();
  try {
    await test(env);
  } finally {
    await env.close();
  }
}
