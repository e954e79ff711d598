import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Store } from '../../contract/store.ts';
import { entry, question } from '../../testing/store/entries.ts';
import { storeSuite } from '../../testing/store-suite.ts';
import { processIdentity } from '../process-identity.ts';
import { loadSqlite } from './connection.ts';
import { openSqliteEnvironment } from './environment-for-tests.ts';
import { openSqliteStore } from './open-sqlite-store.ts';

storeSuite('the SQLite store', openSqliteEnvironment);

describe('openSqliteStore', () => {
  it('makes the state folder for its owner alone, hidden from git', () =>
    inWorkspace(async (root) => {
      await (await open(root)).close();
      assert.equal((await stat(join(root, '.haft'))).mode & 0o777, 0o700);
      assert.equal(await readFile(join(root, '.haft/.gitignore'), 'utf8'), '*\n');
    }));

  it('closes a folder that was open to others, and says so', () =>
    inWorkspace(async (root) => {
      await mkdir(join(root, '.haft'), { mode: 0o755 });
      const warnings: string[] = [];
      await (await open(root, (message) => warnings.push(message))).close();
      assert.equal((await stat(join(root, '.haft'))).mode & 0o777, 0o700);
      assert.equal(warnings.length, 1);
    }));

  it('refuses a state folder that is a file or a link', () =>
    inWorkspace(async (root) => {
      await writeFile(join(root, '.haft'), '');
      await assert.rejects(open(root), { reason: 'store.unwritable' });
      await rm(join(root, '.haft'));
      await mkdir(join(root, 'elsewhere'));
      await symlink('elsewhere', join(root, '.haft'));
      await assert.rejects(open(root), { reason: 'store.unwritable' });
    }));

  it('refuses a state folder that a clone brought along with a link in it', () =>
    inWorkspace(async (root) => {
      await mkdir(join(root, '.haft'), { mode: 0o700 });
      await mkdir(join(root, 'inside'));
      for (const name of [
        'objects',
        'quarantine',
        'placeholders',
        'cache',
        'runs',
        'haft.db',
        'haft.db-wal',
      ]) {
        await symlink('../inside', join(root, '.haft', name));
        await assert.rejects(open(root), {
          reason: 'store.unwritable',
          message: new RegExp(`${name}" is a link`),
        });
        await rm(join(root, '.haft', name));
      }
      await (await open(root)).close();
      assert.deepEqual(await readdir(join(root, 'inside')), []);
    }));

  it('brings a database of before approvals had details up to date: the audit verifies, open questions stay', () =>
    inWorkspace(async (root) => {
      const store = await open(root);
      await store.audit.append(entry(), true);
      await store.approvals.request(question());
      await store.close();
      // As version 8 left it.
      sql(root, 'ALTER TABLE approvals DROP COLUMN details; PRAGMA user_version = 8');
      const again = await open(root);
      assert.equal((await again.audit.verify()).ok, true);
      const details = { args: {}, notes: [] };
      const [old] = await again.approvals.list({}, 1500);
      assert.deepEqual([old?.id, old?.status, old?.details], ['appr_1', 'pending', null]);
      const other = question({ id: 'appr_2', tool: 'fs_move', details });
      assert.deepEqual((await again.approvals.request(other)).details, details);
      await again.close();
    }));

  it('refuses a database of a later version, and leaves it as it is', () =>
    inWorkspace(async (root) => {
      await (await open(root)).close();
      sql(root, 'PRAGMA user_version = 99');
      await assert.rejects(open(root), { reason: 'store.newer', message: /version 99.*update Haft/ });
    }));

  it('refuses a file that is no database, and says what to do', () =>
    inWorkspace(async (root) => {
      await mkdir(join(root, '.haft'), { mode: 0o700 });
      await writeFile(join(root, '.haft/haft.db'), 'this is not a database, not at all '.repeat(200));
      await assert.rejects(open(root), { reason: 'store.corrupt', message: /move the state folder aside/ });
      await assert.rejects(open(root), (failure: Error) => !failure.message.includes(root));
    }));

  it('refuses a database that is not Haft’s', () =>
    inWorkspace(async (root) => {
      await mkdir(join(root, '.haft'), { mode: 0o700 });
      sql(root, 'CREATE TABLE recipes (id)');
      await assert.rejects(open(root), { reason: 'store.corrupt', message: /not a Haft database/ });
    }));

  it('says that a damaged database is damaged when it meets the damage', () =>
    inWorkspace(async (root) => {
      const store = await open(root);
      for (let i = 0; i < 300; i++) await store.audit.append(entry(), false);
      await store.close();
      sql(root, 'PRAGMA wal_checkpoint(TRUNCATE)');
      const file = join(root, '.haft/haft.db');
      const bytes = await readFile(file);
      await writeFile(file, bytes.fill(0xff, bytes.length >> 1));
      const later = await open(root);
      await assert.rejects(later.audit.verify(), { reason: 'store.corrupt' });
      await later.close();
    }));

  it('opens at once from many sides, and makes the tables once', () =>
    inWorkspace(async (root) => {
      const stores = await Promise.all(Array.from({ length: 8 }, () => open(root)));
      await Promise.all(stores.map((store) => store.audit.append(entry(), false)));
      assert.equal((await stores[0]!.audit.verify()).ok, true);
      assert.equal((await stores[7]!.audit.head()).count, 8);
      for (const store of stores) await store.close();
    }));

  it('leaves a small log for the next process, and folds in a long one', () =>
    inWorkspace(async (root) => {
      const log = join(root, '.haft/haft.db-wal');
      const first = await open(root);
      await first.audit.append(entry(), false);
      await first.close();
      assert.equal(existsSync(log), true);
      const second = await open(root);
      assert.equal((await second.audit.head()).count, 1);
      for (let i = 0; i < 100; i++) await second.audit.append(entry(), false);
      await second.close();
      assert.equal(existsSync(log), false);
    }));

  it('answers calls after its end with a failure, and may be closed twice', () =>
    inWorkspace(async (root) => {
      const store = await open(root);
      const last = store.audit.append(entry(), true);
      await Promise.all([store.close(), store.close()]);
      assert.equal((await last).seq, 1);
      await assert.rejects(store.audit.append(entry(), false), /closed/);
    }));

  it('says that the state cannot be written when it cannot', () =>
    inWorkspace(async (root) => {
      await chmod(root, 0o755);
      await (await open(root)).close();
      await chmod(join(root, '.haft'), 0o555);
      const answer = asNobody(root);
      await chmod(join(root, '.haft'), 0o700);
      assert.match(answer, /^store\.unwritable Cannot open the state in "\.haft"/);
    }));

  it('says that the workspace cannot be written when it cannot hold a state folder', () =>
    inWorkspace(async (root) => {
      await chmod(root, 0o555);
      assert.match(asNobody(root), /^store\.unwritable /);
    }));
});

const clock = Date;

function open(root: string, onWarning?: (message: string) => void): Promise<Store> {
  const folder = join(root, '.haft');
  return openSqliteStore({ folder, process: processIdentity(), clock, ...(onWarning ? { onWarning } : {}) });
}

function sql(root: string, text: string): void {
  const database = new (loadSqlite().DatabaseSync)(join(root, '.haft/haft.db'));
  database.exec(text);
  database.close();
}

/** Opens the store in a process that permissions hold for, and answers the failure. */
function asNobody(root: string): string {
  const module = new URL('./open-sqlite-store.ts', import.meta.url).href;
  const code = `
    const { openSqliteStore } = await import(${JSON.stringify(module)});
    const folder = ${JSON.stringify(join(root, '.haft'))};
    await openSqliteStore({ folder, process: '1::', clock: Date }).then(
      () => console.log('opened'),
      (failure) => console.log(failure.reason, failure.message),
    );`;
  const unprivileged = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    ...unprivileged,
  });
  assert.equal(child.status, 0, child.stderr);
  return child.stdout;
}

async function inWorkspace(test: (root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'haft-open-'));
  try {
    await test(root);
  } finally {
    await rm(root, { recursive: true });
  }
}

describe('a state folder that was copied', () => {
  it('grants nothing that was granted in the original, and adds no pack', async () => {
    const original = realpathSync(mkdtempSync(join(tmpdir(), 'haft-home-')));
    const copy = `${original}-copy`;
    const key = { tool: 't', contract: 'v1', policyHash: 'p', paramsHash: 'a' };
    const clock = { now: () => 1000 };
    try {
      const store = await openSqliteStore({
        folder: join(original, '.haft'),
        process: processIdentity(),
        clock,
      });
      const asked = {
        ...key,
        id: 'appr_1',
        session: 's',
        createdTs: 1,
        expiresTs: 9999,
        rule: 'r',
        effects: [],
        admit: null,
        details: null,
      };
      await store.approvals.request(asked);
      await store.approvals.decide('appr_1', 'granted', 'me', 2);
      const added = { entry: { mcp: { command: ['x'] } }, addedTs: 1, changedTs: 1 };
      await store.installations.put({ ...added, name: 'on', enabled: true });
      await store.installations.put({ ...added, name: 'off', enabled: false });
      await store.close();
      cpSync(original, copy, { recursive: true, preserveTimestamps: true });
      const copied = await openSqliteStore({
        folder: join(copy, '.haft'),
        process: processIdentity(),
        clock,
      });
      assert.equal(await copied.approvals.consume(key, 3), undefined);
      assert.deepEqual(await copied.approvals.list({}, 3), []);
      assert.deepEqual(
        (await copied.installations.list()).map(({ name, entry, enabled }) => [name, entry, enabled]),
        [['off', null, false]],
      );
      await copied.close();
      const again = await openSqliteStore({
        folder: join(original, '.haft'),
        process: processIdentity(),
        clock,
      });
      assert.equal((await again.approvals.consume(key, 3))?.status, 'granted');
      await again.close();
    } finally {
      rmSync(original, { recursive: true, force: true });
      rmSync(copy, { recursive: true, force: true });
    }
  });
});
