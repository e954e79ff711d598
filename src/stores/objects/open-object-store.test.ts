import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { objectStoreSuite } from '../../testing/object-store-suite.ts';
import { processIdentity } from '../process-identity.ts';
import { type ObjectsEnvironment, openObjectsEnvironment } from './environment-for-tests.ts';
import { openObjectStore } from './open-object-store.ts';

objectStoreSuite('the object store', openObjectsEnvironment);
objectStoreSuite('the object store without a place for small objects', () =>
  openObjectsEnvironment({ small: false }),
);

describe('openObjectStore', () => {
  it('keeps large objects as read-only files that sha256sum agrees with, and nothing beside them', () =>
    inObjects(async ({ objects, placeOf, folder }) => {
      const bytes = Buffer.alloc(50_000, 7);
      const id = await objects.put(bytes);
      assert.equal((await stat(placeOf(id))).mode & 0o777, 0o400);
      assert.deepEqual(await readFile(placeOf(id)), bytes);
      const sum = spawnSync('sha256sum', [placeOf(id)], { encoding: 'utf8' });
      assert.equal(`sha256:${sum.stdout.split(' ')[0]}`, id);
      assert.deepEqual(await readdir(join(folder, 'tmp')), []);
      for (const above of [folder, join(folder, 'sha256')]) {
        assert.equal((await stat(above)).mode & 0o777, 0o700);
      }
    }));

  it('keeps small objects in the store that it was given', () =>
    inObjects(async ({ objects, sqlite, folder }) => {
      const bytes = Buffer.from('a pre-image');
      const id = await objects.put(bytes);
      assert.deepEqual(Buffer.from((await sqlite.store.smallObjects.get(id.slice(7)))!), bytes);
      assert.equal(await stat(folder).catch(() => undefined), undefined);
    }));

  it('finds a small object that was stored as a file before there was a place for it', () =>
    inObjects(async ({ objects, folder, sqlite }) => {
      const files = openObjectStore({ folder, process: sqlite.livingProcess });
      const id = await files.put(Buffer.from('early'));
      assert.equal(Buffer.from(await objects.get(id)).toString(), 'early');
      assert.equal(await objects.size(id), 5);
    }));

  it('sweeps what a dead process was writing, and leaves what a living one writes', () =>
    inObjects(async ({ objects, folder, sqlite }) => {
      await mkdir(join(folder, 'tmp'), { recursive: true });
      const living = `${processIdentity()}~0-other`;
      for (const name of [`${sqlite.deadProcess}~0-x`, 'nonsense', living]) {
        await writeFile(join(folder, 'tmp', name), 'half');
      }
      await objects.put(Buffer.alloc(20_000));
      assert.deepEqual(await readdir(join(folder, 'tmp')), [living]);
    }));

  it('leaves nothing behind when a stream breaks off', () =>
    inObjects(async ({ objects, folder }) => {
      const broken = async function* () {
        yield Buffer.alloc(3_000_000);
        throw new Error('gone');
      };
      await assert.rejects(objects.putStream(broken()), /gone/);
      assert.deepEqual(await readdir(join(folder, 'tmp')), []);
    }));

  it('says that the folder cannot be written, without its place on the machine', () =>
    inObjects(async ({ sqlite }) => {
      await writeFile(join(sqlite.folder, 'objects'), 'in the way');
      const objects = openObjectStore({
        folder: join(sqlite.folder, 'objects'),
        process: sqlite.livingProcess,
      });
      await assert.rejects(objects.put(Buffer.alloc(10)), (failure: Error & { reason?: string }) => {
        assert.equal(failure.reason, 'store.unwritable');
        assert.ok(!failure.message.includes(sqlite.folder));
        return true;
      });
    }));

  it('keeps nothing behind a link, at any depth', () =>
    inObjects(async ({ folder, sqlite }) => {
      const elsewhere = await mkdtemp(join(tmpdir(), 'haft-elsewhere-'));
      const bytes = Buffer.alloc(100_000, 'x');
      const shard = createHash('sha256').update(bytes).digest('hex').slice(0, 2);
      for (const link of [`sha256/${shard}`, 'sha256', 'tmp']) {
        await rm(folder, { recursive: true, force: true });
        await mkdir(dirname(join(folder, link)), { recursive: true });
        await symlink(elsewhere, join(folder, link));
        const fresh = openObjectStore({ folder, process: sqlite.livingProcess });
        await assert.rejects(fresh.put(bytes), { reason: 'store.unwritable' }, link);
        assert.deepEqual(await readdir(elsewhere), [], link);
      }
      await rm(elsewhere, { recursive: true });
    }));
});

async function inObjects(test: (env: ObjectsEnvironment) => Promise<void>): Promise<void> {
  const env = await openObjectsEnvironment();
  try {
    await test(env);
  } finally {
    await env.close();
  }
}
