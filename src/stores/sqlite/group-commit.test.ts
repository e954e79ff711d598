import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fail } from '../../contract/errors.ts';
import { entry } from '../../testing/store/entries.ts';
import { toFailure } from '../store-failure.ts';
import { type Connection, connect } from './connection.ts';
import { openSqliteEnvironment, type SqliteEnvironment } from './environment-for-tests.ts';
import { createGroupCommit, type GroupCommit } from './group-commit.ts';

const NEVER = new AbortController().signal;

describe('a group', () => {
  it('is one transaction for all that was queued together', () =>
    withGroup(async (group, connection) => {
      const seen: number[] = [];
      const count = (): number => connection.sql('SELECT count(*) AS n FROM t').get()?.n as number;
      const works = [1, 2, 3].map((value) =>
        group.enqueue(() => {
          connection.sql('INSERT INTO t VALUES (?)').run(value);
          seen.push(count());
          return value * 10;
        }),
      );
      assert.deepEqual(await Promise.all(works), [10, 20, 30]);
      assert.deepEqual(seen, [1, 2, 3]);
      connection.exec('BEGIN; COMMIT');
    }));

  it('of work that is alone waits for no turn of the event loop, and takes what was queued beside it', () =>
    withGroup(async (group, connection) => {
      let turned = false;
      setImmediate(() => {
        turned = true;
      });
      const insert = () => {
        connection.sql('INSERT INTO t VALUES (1)').run();
        return connection.sql('SELECT count(*) AS n FROM t').get()?.n;
      };
      const alone = group.enqueue(insert, false, undefined, true);
      const beside = group.enqueue(insert);
      assert.deepEqual(await Promise.all([alone, beside]), [1, 2]);
      assert.equal(turned, false);
    }));

  it('is committed at once where the store closes, since nothing can join it', () =>
    withGroup(async (group, connection) => {
      let turned = false;
      setImmediate(() => {
        turned = true;
      });
      const kept = group.enqueueSoon(() => connection.sql('INSERT INTO t VALUES (1)').run().changes);
      await group.drain();
      assert.equal(await kept, 1);
      assert.equal(turned, false);
    }));

  it('lets one refuse for itself while the others are kept', () =>
    withGroup(async (group, connection) => {
      const insert = () => connection.sql('INSERT INTO t VALUES (1)').run();
      const refused = group.enqueue(() => {
        throw fail('session.unknown', 'Cannot end it: there is none');
      });
      const kept = group.enqueue(insert);
      await assert.rejects(refused, { reason: 'session.unknown' });
      await kept;
      assert.equal(connection.sql('SELECT count(*) AS n FROM t').get()?.n, 1);
    }));

  it('is undone as a whole by anything unexpected, and the next one goes on', () =>
    withGroup(async (group, connection) => {
      const insert = () => connection.sql('INSERT INTO t VALUES (1)').run();
      const first = assert.rejects(group.enqueue(insert), /a bug/);
      const second = assert.rejects(
        group.enqueue(() => {
          throw new Error('a bug');
        }),
        /a bug/,
      );
      await Promise.all([first, second]);
      assert.equal(connection.sql('SELECT count(*) AS n FROM t').get()?.n, 0);
      await group.enqueue(insert);
      assert.equal(connection.sql('SELECT count(*) AS n FROM t').get()?.n, 1);
    }));

  it('says that the disk is full when it is, and keeps nothing of the group', () =>
    withGroup(async (group, connection) => {
      connection.exec('PRAGMA max_page_count = 20');
      const large = () => connection.sql('INSERT INTO t VALUES (?)').run('x'.repeat(200_000));
      await assert.rejects(group.enqueue(large), { reason: 'file.no_space' });
      assert.equal(connection.sql('SELECT count(*) AS n FROM t').get()?.n, 0);
      await group.enqueue(() => connection.sql('INSERT INTO t VALUES (1)').run());
    }));
});

describe('a database that another process has locked', () => {
  it('is waited for without stopping the event loop', () =>
    withLocked({}, async ({ store }, unlock) => {
      let answered = false;
      const append = store.audit.append(entry(), true).then(() => {
        answered = true;
      });
      for (let turns = 0; turns < 200; turns++) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(answered, false);
      unlock();
      await append;
    }));

  it('is given up on with store.busy when patience ends, and used again when it is free', () =>
    withLocked({ patienceMs: 30 }, async ({ store }, unlock) => {
      await assert.rejects(store.audit.append(entry(), false), { reason: 'store.busy', retryable: true });
      unlock();
      assert.equal((await store.audit.append(entry(), false)).seq, 1);
    }));

  it('does not keep a path locked whose release could not be written', async () => {
    const env = await openSqliteEnvironment({ patienceMs: 30 });
    try {
      const release = await env.store.locks.acquire([{ path: 'a', tree: false }], NEVER);
      const unlock = lock(env);
      await release();
      unlock();
      const other = await env.reopen();
      await (await other.locks.acquire([{ path: 'a', tree: false }], NEVER))();
    } finally {
      await env.close();
    }
  });
});

describe('toFailure', () => {
  it('leaves what it does not know as it is', () => {
    const bug = new TypeError('a bug');
    assert.equal(toFailure(bug, 'Cannot do it'), bug);
    const known = fail('store.busy', 'Cannot do it: busy');
    assert.equal(toFailure(known, 'Cannot do that'), known);
  });
});

async function withGroup(test: (group: GroupCommit, connection: Connection) => Promise<void>): Promise<void> {
  const env = await openSqliteEnvironment();
  const connection = connect(join(env.folder, 'other.db'), { patienceMs: 1000 });
  try {
    connection.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (value)');
    const walSync = { after: (done: (failure: unknown) => void) => done(undefined), close: () => {} };
    const checkpointer = { committed: () => {} };
    await test(
      createGroupCommit({ connection, walSync, checkpointer, parts: [], patienceMs: 1000 }),
      connection,
    );
  } finally {
    connection.close();
    await env.close();
  }
}

async function withLocked(
  options: { patienceMs?: number },
  test: (env: SqliteEnvironment, unlock: () => void) => Promise<void>,
): Promise<void> {
  const env = await openSqliteEnvironment(options);
  const unlock = lock(env);
  try {
    await test(env, unlock);
  } finally {
    unlock();
    await env.close();
  }
}

/** Holds the write lock, as another process would, until the answer is called. */
function lock(env: SqliteEnvironment): () => void {
  let other: Connection | undefined = connect(join(env.folder, 'haft.db'), { patienceMs: 1000 });
  other.exec('BEGIN IMMEDIATE');
  return () => {
    other?.exec('COMMIT');
    other?.close();
    other = undefined;
  };
}

const OPEN = new URL('./open-sqlite-store.ts', import.meta.url).href;
const ENTRIES = new URL('../../testing/store/entries.ts', import.meta.url).href;

/** Traces a process that runs `code` with a store; needs strace. `say` writes a line to its standard output at once. */
async function traced(
  code: string,
  inject: readonly string[] = [],
): Promise<{ calls: string[]; said: string[] }> {
  const root = await mkdtemp(join(tmpdir(), 'haft-trace-'));
  const log = join(root, 'trace');
  const program = `
    import { writeSync } from 'node:fs';
    import { openSqliteStore } from ${JSON.stringify(OPEN)};
    import { entry } from ${JSON.stringify(ENTRIES)};
    const say = (text) => writeSync(1, text + '\\n');
    const store = await openSqliteStore({ folder: ${JSON.stringify(join(root, '.haft'))}, process: '1::', clock: Date });
    ${code}`;
  const trace = ['-f', '-y', '-s', '64', '-e', 'trace=pwrite64,write,fsync,fdatasync', ...inject, '-o', log];
  const child = spawnSync('strace', [...trace, process.execPath, '--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  try {
    assert.equal(child.error, undefined, 'this test needs strace');
    assert.equal(child.status, 0, child.stderr);
    const lines = (await readFile(log, 'utf8')).split('\n');
    return { calls: lines.map(toCall).filter((call) => call !== ''), said: child.stdout.trim().split('\n') };
  } finally {
    await rm(root, { recursive: true });
  }
}

/** What matters of a traced line. A call that another thread interrupts counts where it ended. */
function toCall(line: string): string {
  const said = /write\(1<.*?"(\w+)\\n"/.exec(line)?.[1];
  if (said) return said;
  if (/pwrite64\(\d+<.*haft\.db-wal>/.test(line)) return 'log written';
  if (/fdatasync\(\d+<.*haft\.db-wal>\)\s+= 0/.test(line) || /fdatasync resumed>\)\s+= 0/.test(line))
    return 'log synced';
  return '';
}

describe('a durable append', () => {
  it('answers after its row was written to the log and the log was synced', async () => {
    const { calls } = await traced(`
      say('begin');
      await store.audit.append(entry(), true);
      say('acknowledged');`);
    const own = calls.slice(calls.indexOf('begin'));
    const written = own.indexOf('log written');
    const synced = own.indexOf('log synced', own.lastIndexOf('log written'));
    assert.ok(written > 0, own.join(', '));
    assert.ok(synced > written, own.join(', '));
    assert.ok(own.indexOf('acknowledged') > synced, own.join(', '));
  });

  it('shares its sync with those that were committed meanwhile', async () => {
    const slow = ['-e', 'inject=fdatasync:delay_enter=1000000'];
    const { calls, said } = await traced(
      `
      let first = 'waiting';
      const appends = [store.audit.append(entry(), true).then(() => { first = 'answered'; })];
      while ((await store.audit.head()).count < 1) await new Promise(setImmediate);
      for (let count = 2; count <= 4; count++) {
        appends.push(store.audit.append(entry(), true));
        while ((await store.audit.head()).count < count) await new Promise(setImmediate);
      }
      say(first);
      await Promise.all(appends);`,
      slow,
    );
    assert.deepEqual(said, ['waiting'], 'all four are committed while the first sync runs');
    assert.equal(calls.filter((call) => call === 'log synced').length, 2);
  });

  it('that only few wait for costs one sync for all of a group', async () => {
    const { calls } = await traced(`
      await Promise.all(Array.from({ length: 64 }, () => store.audit.append(entry(), true)));`);
    assert.equal(calls.filter((call) => call === 'log synced').length, 1);
  });

  it('fails when the disk does, and so does everything after it', async () => {
    const { said } = await traced(
      `
      const outcome = (append) => append.then(() => 'answered', (failure) => failure.reason);
      await store.audit.append(entry(), false).then(() => say('kept'));
      say(await outcome(store.audit.append(entry(), true)).then((reason) => reason.replace('.', '_')));
      say(await outcome(store.audit.append(entry(), false)).then((reason) => reason.replace('.', '_')));
      await store.close();`,
      ['-e', 'inject=fdatasync:error=EIO'],
    );
    assert.deepEqual(said, ['kept', 'file_io', 'file_io']);
  });

  it('fails when the state folder was deleted meanwhile', async () => {
    const env = await openSqliteEnvironment();
    try {
      await env.store.audit.append(entry(), true);
      await rm(env.folder, { recursive: true });
      await assert.rejects(env.store.audit.append(entry(), true), {
        reason: 'store.unwritable',
        message: /deleted/,
      });
      await assert.rejects(env.store.audit.append(entry(), false), { reason: 'store.unwritable' });
    } finally {
      await env.close();
    }
  });
});

describe('an append that need not be durable', () => {
  it('does not wait for the disk', async () => {
    const { calls } = await traced(`
      await store.audit.append(entry(), false);
      say('acknowledged');`);
    assert.ok(calls.includes('acknowledged'));
    assert.ok(!calls.includes('log synced'));
  });
});

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
