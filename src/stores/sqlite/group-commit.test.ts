import assert from 'node:assert/strict';
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
