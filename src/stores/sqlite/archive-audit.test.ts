// Owns: that old rows of the audit leave its table and are still read, verified and proven as if they had not.
// Refuses: what the command line makes of it; test/e2e/retention.test.ts has that.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { sha256Hex } from '../../base/digest.ts';
import { entry, intent } from '../../testing/store/entries.ts';
import { ALL, archiveAll, SEGMENT, segmentsOf } from './archive-for-tests.ts';
import { openSqliteEnvironment, type SqliteEnvironment } from './environment-for-tests.ts';
import { openSqliteStore } from './open-sqlite-store.ts';

async function inStore(rows: number, work: (env: SqliteEnvironment) => Promise<void>): Promise<void> {
  const env = await openSqliteEnvironment({ segmentRows: SEGMENT });
  try {
    for (let i = 1; i <= rows; i++)
      await env.store.audit.append(
        entry({ callId: `call_${i}`, tool: i % 3 ? 'a' : 'b', startTs: i * 1000 }),
        false,
      );
    await work(env);
  } finally {
    await env.close();
  }
}

async function hashesOf({ store }: SqliteEnvironment, count: number): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const some of store.audit.hashes(count)) all.push(...some);
  return all;
}

describe('retention.archive', () => {
  it('moves whole segments of old rows, and every question finds the same as before', () =>
    inStore(50, async (env) => {
      const { audit, retention } = env.store;
      const queries = [
        {},
        { last: 3 },
        { last: 30 },
        { afterSeq: 3, limit: 20 },
        { tool: 'b' },
        { tool: 'b', last: 10 },
        { callId: 'call_5' },
        { callId: 'call_50' },
        { callId: 'call_99' },
        { outcome: 'ok' as const, limit: 7 },
        { limit: 0 },
      ];
      const ask = async () => ({
        rows: await Promise.all(queries.map((query) => audit.rows(query))),
        hashes: await hashesOf(env, 50),
        bodies: await Promise.all([1, 8, 9, 50, 51].map((seq) => audit.body(seq))),
        head: await audit.head(),
        verdict: await audit.verify(),
      });
      const before = await ask();
      assert.equal(await retention.archivable(ALL), 48);
      assert.equal(await archiveAll(env), 48);
      assert.equal(await retention.archivable(ALL), 0);
      assert.deepEqual(await ask(), before);
      assert.equal((await segmentsOf(env)).length, 6);
      const { rows, archivedRows, segments } = await retention.sizes();
      assert.deepEqual({ rows, archivedRows, segments }, { rows: 2, archivedRows: 48, segments: 6 });
      await audit.append(entry({ callId: 'call_51' }), true);
      assert.equal((await audit.verify(before.head)).ok, true);
      const later = await env.reopen();
      assert.deepEqual(await later.audit.rows({ callId: 'call_5' }), before.rows[6]);
    }));

  it('moves several segments in one go where many are due, one where few are', () =>
    inStore(100, async (env) => {
      const { retention, audit } = env.store;
      assert.equal(await retention.archive(ALL), 4 * SEGMENT);
      assert.equal((await segmentsOf(env)).length, 4);
      assert.equal(await retention.archive({ rows: 52, since: 0 }), SEGMENT);
      assert.equal((await audit.verify()).ok, true);
    }));

  it('moves the segments before a row that is not as it was written, then says which', () =>
    inStore(100, async (env) => {
      await env.tamper(20);
      const { retention } = env.store;
      assert.equal(await retention.archive(ALL), 2 * SEGMENT);
      await assert.rejects(retention.archive(ALL), { reason: 'audit.broken', message: /row 20: / });
      assert.equal((await retention.sizes()).archivedRows, 2 * SEGMENT);
    }));

  it('keeps the newest so many rows, and of those what began since', () =>
    inStore(50, async (env) => {
      assert.equal(await archiveAll(env, { rows: 30, since: 0 }), 16);
      assert.equal(await archiveAll(env, { rows: 30, since: 33_000 }), 16);
      assert.equal(await archiveAll(env, { rows: 30, since: 32_001 }), 0);
    }));

  it('leaves the rows from the oldest call under way on', () =>
    inStore(12, async (env) => {
      const { audit } = env.store;
      await audit.append(intent({ callId: 'open', process: env.deadProcess }), true);
      for (let i = 0; i < 20; i++) await audit.append(entry({ callId: `later_${i}` }), false);
      assert.equal(await archiveAll(env), 8);
      const [lost] = await audit.takeAbandoned(5000);
      assert.equal(lost?.callId, 'open');
      assert.equal(await archiveAll(env), 24);
      assert.deepEqual(
        (await audit.rows({ callId: 'open' })).map((row) => [row.seq, row.outcome]),
        [
          [13, 'pending'],
          [34, 'lost'],
        ],
      );
    }));

  it('refuses to move a row that is not as it was written, and leaves everything as it is', () =>
    inStore(20, async (env) => {
      await env.tamper(5);
      await assert.rejects(env.store.retention.archive(ALL), { reason: 'audit.broken', message: /row 5: / });
      assert.equal((await env.store.retention.sizes()).archivedRows, 0);
      const verdict = await env.store.audit.verify();
      assert.equal(!verdict.ok && verdict.seq, 5);
    }));

  it('lets nobody delete a row that is in no segment', () =>
    inStore(20, async (env) => {
      assert.equal(await env.store.retention.archive(ALL), 8);
      assert.throws(() => env.sql('DELETE FROM audit WHERE seq = 9'), /append-only/);
      assert.throws(() => env.sql('DELETE FROM audit_segments'), /append-only/);
      assert.throws(() => env.sql('UPDATE audit_segments SET last = 20'), /append-only/);
    }));

  it('makes segments of fewer rows where they are long', () =>
    inStore(1, async (env) => {
      const { audit, retention } = env.store;
      const long = { kind: 'exec', command: 'x'.repeat(12 * 1024 * 1024) } as const;
      for (let i = 0; i < 7; i++) await audit.append(entry({ callId: `long_${i}`, effects: [long] }), false);
      await audit.append(entry({ callId: 'last' }), false);
      const before = await audit.head();
      assert.equal(await retention.archive(ALL), 4);
      assert.deepEqual(await audit.verify(), { ok: true, head: before });
      assert.equal((await audit.rows({ callId: 'long_2' }))[0]?.effects.length, 1);
    }));

  it('lets readers of other processes see every row once, while rows are moved', () =>
    inStore(200, async (env) => {
      const reader = await env.reopen();
      let moving = true;
      const moved = archiveAll(env).finally(() => {
        moving = false;
      });
      let looks = 0;
      for (; moving || looks < 3; looks++) {
        const [front, back] = await Promise.all([
          reader.audit.rows({}),
          reader.audit.rows({ last: 200, afterSeq: 0 }),
        ]);
        for (const rows of [front, back])
          assert.deepEqual(
            rows.map(({ seq }) => seq),
            Array.from({ length: 200 }, (_, i) => i + 1),
          );
        assert.equal((await reader.audit.verify()).ok, true);
      }
      assert.equal(await moved, 192);
    }));

  it('goes on after a process that died between the record and the deletion', () =>
    inStore(20, async (env) => {
      const { audit, retention } = env.store;
      const before = await audit.rows({});
      env.sql('CREATE TABLE copies AS SELECT * FROM audit WHERE seq <= 8');
      await retention.archive(ALL);
      env.sql('INSERT INTO audit SELECT * FROM copies; DROP TABLE copies');
      assert.deepEqual(await audit.rows({}), before);
      assert.deepEqual(await audit.rows({ last: 20 }), before);
      assert.equal((await audit.verify()).ok, true);
      await archiveAll(env);
      assert.deepEqual(await audit.rows({}), before);
      assert.equal((await retention.sizes()).rows, 4);
    }));
});

describe('the head that is kept outside', () => {
  it('is told the hashes of rows that are in segments, too', () =>
    inStore(30, async (env) => {
      const rows = await env.store.audit.rows({});
      await archiveAll(env);
      const told: unknown[] = [];
      const store = await openSqliteStore({
        folder: env.folder,
        process: env.livingProcess,
        clock: Date,
        onProgress: ({ chain, hashOf }) => told.push(chain, ...[1, 5, 8, 9, 24, 25, 99].map(hashOf)),
      });
      await store.audit.append(entry({ callId: 'later' }), true);
      await store.close();
      const hashOf = (seq: number) => rows[seq - 1]?.hash;
      assert.deepEqual(told, [1, 1, 5, 8, 9, 24, 25, 99].map(hashOf));
    }));
});

describe('retention.shrink', () => {
  it('makes the file of a database of before there were segments smaller, while others have it open', () =>
    inStore(0, async (env) => {
      const { audit } = env.store;
      const long = { kind: 'exec', command: 'x'.repeat(50_000) } as const;
      for (let i = 0; i < 500; i++)
        await audit.append(entry({ callId: `call_${i}`, effects: [long] }), false);
      const head = await audit.head();
      await env.store.close();
      // As version 9 left it.
      env.sql(`DROP TRIGGER audit_keeps_rows; DROP TABLE audit_segments; DROP TABLE preimages; DROP TABLE retention;
        CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit
          BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
        PRAGMA user_version = 9`);
      const [store, other] = [await env.reopen(), await env.reopen()];
      assert.deepEqual(await store.audit.verify(head), { ok: true, head });
      assert.equal(await store.retention.shrink({ largest: 1e12 }), 0, 'nothing is free');
      assert.equal(await archiveAll({ store }), 496);
      const before = await store.retention.sizes();
      assert.ok(before.free > 20_000_000, JSON.stringify(before));
      assert.equal(await store.retention.shrink({ largest: 1 }), 0, 'too large');
      assert.ok((await store.retention.shrink({ largest: 1e12 })) > 20_000_000);
      assert.ok((await store.retention.sizes()).database < 2_000_000);
      assert.deepEqual(await other.audit.verify(head), { ok: true, head });
      assert.equal((await other.audit.append(entry({ callId: 'later' }), true)).seq, 501);
    }));
});

describe('audit.verify over segments', () => {
  const faults: Readonly<
    Record<string, (env: SqliteEnvironment, files: readonly string[]) => Promise<void>>
  > = {
    'is missing': (env, files) => rm(join(env.folder, 'audit', files[1]!)),
    'has a byte changed': async (env, files) => {
      const path = join(env.folder, 'audit', files[1]!);
      const bytes = await readFile(path);
      bytes[bytes.length >> 1]! ^= 1;
      await chmod(path, 0o600);
      await writeFile(path, bytes);
    },
    'has the bytes of another': async (env, files) => {
      await rm(join(env.folder, 'audit', files[1]!));
      await copyFile(join(env.folder, 'audit', files[2]!), join(env.folder, 'audit', files[1]!));
    },
    'is a pipe that nobody writes to': async (env, files) => {
      await rm(join(env.folder, 'audit', files[1]!));
      execFileSync('mkfifo', [join(env.folder, 'audit', files[1]!)]);
    },
    'is a folder': async (env, files) => {
      await rm(join(env.folder, 'audit', files[1]!));
      await mkdir(join(env.folder, 'audit', files[1]!));
    },
    'is a link to a device': async (env, files) => {
      await rm(join(env.folder, 'audit', files[1]!));
      await symlink('/dev/zero', join(env.folder, 'audit', files[1]!));
    },
    'changed places with the next': async (env, files) => {
      const [a, b] = [join(env.folder, 'audit', files[1]!), join(env.folder, 'audit', files[2]!)];
      await rename(a, `${a}.x`);
      await rename(b, a);
      await rename(`${a}.x`, b);
    },
    'is another, and its record as well': (env, files) =>
      forge(env, files[1]!, (text) => text.replace('call_10', 'call_1O')),
    'lacks a row, and its record as well': (env, files) =>
      forge(env, files[1]!, (text) => text.split('\n').slice(0, -1).join('\n')),
    'has two rows exchanged, and its record as well': (env, files) =>
      forge(env, files[1]!, (text) => {
        const [about, first, second, ...rest] = text.split('\n');
        return [about, second, first, ...rest].join('\n');
      }),
    'has no record': async (env) => env.sql(`${OPEN} DELETE FROM audit_segments WHERE first = 9`),
    'has the record of the next': async (env) =>
      env.sql(`${OPEN} DELETE FROM audit_segments WHERE first = 9;
        UPDATE audit_segments SET first = 9, last = 16 WHERE first = 17`),
  };
  for (const [fault, spoil] of Object.entries(faults)) {
    it(`names the first row of one that ${fault}`, () =>
      inStore(40, async (env) => {
        await archiveAll(env);
        await spoil(env, await segmentsOf(env));
        const verdict = await (await env.reopen()).audit.verify();
        assert.equal(verdict.ok, false);
        assert.equal(!verdict.ok && verdict.seq, 9, JSON.stringify(verdict));
        if (!fault.includes('record'))
          assert.match(!verdict.ok ? verdict.problem : '', /segment \.haft\/audit/);
      }));
  }

  it('notices that all rows after the last segment are gone', () =>
    inStore(20, async (env) => {
      await archiveAll(env);
      env.sql('DROP TRIGGER audit_keeps_rows; DELETE FROM audit');
      const verdict = await env.store.audit.verify();
      assert.equal(!verdict.ok && verdict.seq, 17);
    }));

  it('holds the chain against a head that is in a segment', () =>
    inStore(20, async (env) => {
      const [row] = await env.store.audit.rows({ callId: 'call_5' });
      await archiveAll(env);
      assert.equal((await env.store.audit.verify({ count: 5, hash: row!.hash })).ok, true);
      assert.equal((await env.store.audit.verify({ count: 5, hash: 'f'.repeat(64) })).ok, false);
    }));

  it('says which segment it is where rows of it are asked for', () =>
    inStore(20, async (env) => {
      await archiveAll(env);
      const [file] = await segmentsOf(env);
      await rm(join(env.folder, 'audit', file!));
      await assert.rejects((await env.reopen()).audit.rows({ limit: 3 }), {
        reason: 'audit.broken',
        message: new RegExp(`${file}.*the file is missing`),
      });
    }));
});

const OPEN = 'DROP TRIGGER audit_segments_keep_rows; DROP TRIGGER audit_segments_keep_values;';

/** Writes another content under the same name, and the digest and size of it into the record. */
async function forge(env: SqliteEnvironment, file: string, change: (text: string) => string): Promise<void> {
  const path = join(env.folder, 'audit', file);
  const bytes = zstdCompressSync(Buffer.from(change(zstdDecompressSync(await readFile(path)).toString())));
  await chmod(path, 0o600);
  await writeFile(path, bytes);
  env.sql(
    `${OPEN} UPDATE audit_segments SET sha256 = '${sha256Hex(bytes)}', size = ${bytes.length} WHERE file = '${file}'`,
  );
}
