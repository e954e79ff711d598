import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SHORTEST_LEASE_MS } from '../../contract/artifacts.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { intent } from '../../testing/store/entries.ts';
import { type ArtifactsEnvironment, inArtifacts } from './environment-for-tests.ts';

const LEASE = { unusedForMs: SHORTEST_LEASE_MS };
const TWO_HOURS = 2 * SHORTEST_LEASE_MS;

describe('sweepArtifacts', () => {
  it('lets go of artifacts that nobody used, rows and bytes, and says how much that was', () =>
    inArtifacts(async ({ artifacts, later, objects, folder }) => {
      const { id: small } = await artifacts.importBytes(Buffer.from('small'));
      const { id: large } = await artifacts.importBytes(Buffer.alloc(50_000));
      const kept = { artifacts: [], removed: { objects: 0, bytes: 0 }, kept: { objects: 2, bytes: 50_005 } };
      assert.deepEqual(await artifacts.sweep(LEASE), kept);
      const dry = await later(TWO_HOURS).sweep({ ...LEASE, dryRun: true });
      const report = await later(TWO_HOURS).sweep(LEASE);
      assert.deepEqual(dry, report);
      assert.deepEqual(new Set(report.artifacts), new Set([small, large]));
      assert.deepEqual(report.removed, { objects: 2, bytes: 50_005 });
      for (const id of [small, large]) {
        assert.equal(await artifacts.get(id), undefined);
        assert.equal(await objects.size(id), undefined);
      }
      assert.deepEqual(await readdir(join(folder, 'tmp')), []);
      assert.equal((await artifacts.importBytes(Buffer.alloc(50_000))).id, large);
      assert.deepEqual(await artifacts.verify(large), { state: 'ok' });
    }));

  it('keeps pre-images for undo, unless told for how long', () =>
    inArtifacts(async ({ later, objects, sqlite }) => {
      const before = {
        type: 'file',
        object: await objects.put(Buffer.from('old')),
        size: 3,
        mode: 0o644,
      } as const;
      const changes = [{ path: 'a.txt', before, after: null, stored: true }];
      await sqlite.store.audit.append(intent({ startTs: Date.now(), changes }), true);
      const spill = await objects.put(Buffer.from('nobody refers to this'));
      const day = 24 * SHORTEST_LEASE_MS;
      await later(day).sweep({ ...LEASE, undoForMs: 2 * day });
      assert.equal(await objects.size(spill), undefined);
      assert.equal(await objects.size(before.object), 3);
      await later(day).sweep(LEASE);
      assert.equal(await objects.size(before.object), 3);
      await later(day).sweep({ ...LEASE, undoForMs: SHORTEST_LEASE_MS });
      assert.equal(await objects.size(before.object), undefined);
    }));

  it('keeps what is in a tree that is kept, and goes over what is in one that is not', () =>
    inArtifacts(async ({ artifacts, later, objects, scratch, sqlite }) => {
      await mkdir(join(scratch, 'tree'));
      await writeFile(join(scratch, 'tree', 'shared'), 'shared');
      const { id } = await artifacts.importPath(join(scratch, 'tree'));
      const shared = (await artifacts.entries(id)).map(
        (one): ObjectId => `sha256:${'sha256' in one ? one.sha256 : ''}`,
      )[0]!;
      // As if the tree were used since, and its files were not.
      const past = Date.now() - TWO_HOURS;
      sqlite.sql(`UPDATE small_objects SET used_ts = ${past} WHERE sha256 = x'${shared.slice(7)}'`);
      await artifacts.sweep(LEASE);
      assert.equal(await objects.size(shared), 6);
      await later(TWO_HOURS).sweep(LEASE);
      assert.equal(await objects.size(shared), undefined);
      assert.equal(await artifacts.get(id), undefined);
    }));

  it('leaves alone what is held, and what is used between its look and its removal', () =>
    inArtifacts(async (env) => {
      const { artifacts, objects, sqlite } = env;
      const ids: ObjectId[] = [];
      for (const size of [100, 50_000]) ids.push((await artifacts.importBytes(Buffer.alloc(size, 5))).id);
      await age(env, ids);
      await (await env.another()).hold(ids);
      await artifacts.sweep(LEASE);
      for (const id of ids) assert.deepEqual(await artifacts.verify(id), { state: 'ok' });

      await age(env, ids);
      const since = Date.now() - SHORTEST_LEASE_MS;
      // The look is over, and then somebody imports the same bytes.
      const [small, large] = ids;
      await artifacts.importBytes(Buffer.alloc(100, 5));
      assert.deepEqual(await sqlite.store.artifacts.forget(ids, since), [large]);
      assert.deepEqual(await objects.discard(ids, since), [large]);
      assert.deepEqual(await artifacts.verify(small!), { state: 'ok' });
    }));

  it('refuses a shorter time than it takes to refer to what was stored', () =>
    inArtifacts(async ({ artifacts }) => {
      await assert.rejects(artifacts.sweep({ unusedForMs: SHORTEST_LEASE_MS - 1 }), { reason: 'usage' });
      await assert.rejects(artifacts.sweep({ unusedForMs: Number.NaN }), { reason: 'usage' });
    }));
});

/** Makes them look unused for two hours. */
async function age({ sqlite, placeOf }: ArtifactsEnvironment, ids: readonly ObjectId[]): Promise<void> {
  const { utimes } = await import('node:fs/promises');
  const past = Date.now() - TWO_HOURS;
  for (const id of ids) {
    for (const table of ['small_objects', 'object_uses', 'artifacts'])
      sqlite.sql(`UPDATE ${table} SET used_ts = ${past} WHERE sha256 = x'${id.slice(7)}'`);
    await utimes(placeOf(id), past / 1000, past / 1000).catch(() => {});
  }
}
