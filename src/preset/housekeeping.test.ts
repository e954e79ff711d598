// Owns: that hosts which stay clean up by themselves, several over one state and beside calls, and stop when told to.
// Refuses: the timers of a real host; test/e2e/retention.test.ts has one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import type { PolicyFile } from '../contract/policy.ts';
import { openArtifactStore } from '../stores/artifacts/open-artifact-store.ts';
import { openObjectStore } from '../stores/objects/open-object-store.ts';
import { openSqliteEnvironment, type SqliteEnvironment } from '../stores/sqlite/environment-for-tests.ts';
import type { SqliteStore } from '../stores/sqlite/open-sqlite-store.ts';
import { entry, intent } from '../testing/store/entries.ts';
import { type HousekeepingParts, keepHouse } from './housekeeping.ts';

const KEEP: PolicyFile = { version: 1, audit: { keep: { rows: 10 } }, undo: { keep: { days: 1 } } };
const DAY_MS = 86_400_000;

function partsOf(
  env: SqliteEnvironment,
  store: SqliteStore,
  laterMs = 0,
): HousekeepingParts & { said: string[] } {
  const clock = { now: () => Date.now() + laterMs };
  const objects = openObjectStore({
    folder: `${env.folder}/objects`,
    process: env.livingProcess,
    small: store.smallObjects,
    uses: store.objectUses,
  });
  const said: string[] = [];
  return {
    retention: store.retention,
    artifacts: async () => openArtifactStore({ objects, rows: store.artifacts, clock }),
    policy: () => KEEP,
    clock,
    head: async () => (await store.audit.head()).count,
    onWarning: (message) => said.push(message),
    everyMs: 1,
    said,
  };
}

async function inStore(work: (env: SqliteEnvironment) => Promise<void>): Promise<void> {
  const env = await openSqliteEnvironment({ segmentRows: 8 });
  try {
    await work(env);
  } finally {
    await env.close();
  }
}

describe('keepHouse', () => {
  it('archives when nobody calls, and says nothing', () =>
    inStore(async (env) => {
      for (let i = 0; i < 40; i++)
        await env.store.audit.append(entry({ callId: `call_${i}`, startTs: Date.now() }), false);
      const parts = partsOf(env, env.store);
      const house = keepHouse(parts);
      await eventually(async () => (await env.store.retention.sizes()).archivedRows === 24, 'segments');
      await house.close();
      assert.equal((await env.store.audit.verify()).ok, true);
      assert.deepEqual(parts.said, []);
      assert.equal(await (await env.reopen(env.deadProcess)).retention.claim(), true, 'released');
    }));

  it('several over one state lose nothing, while calls come', () =>
    inStore(async (env) => {
      const stores = [env.store, await env.reopen(), await env.reopen()];
      const houses = stores.map((store) => keepHouse(partsOf(env, store)));
      const appended: Promise<unknown>[] = [];
      for (let i = 0; i < 600; i++) {
        appended.push(stores[i % 3]!.audit.append(entry({ callId: `call_${i}` }), i % 10 === 0));
        if (i % 20 === 0) await Promise.all(appended);
      }
      await Promise.all(appended);
      await eventually(async () => (await env.store.retention.sizes()).archivedRows >= 584, 'segments');
      for (const house of houses) await house.close();
      assert.equal((await env.store.audit.verify()).ok, true);
      const found = (await env.store.audit.rows({})).map(({ callId }) => callId);
      assert.deepEqual([found.length, new Set(found).size], [600, 600]);
    }));

  it('gives up undo and removes what it kept, and no more', () =>
    inStore(async (env) => {
      const now = partsOf(env, env.store);
      const { id: artifact } = await (await now.artifacts()).importBytes(Buffer.from('shared'));
      const objects = openObjectStore({
        folder: `${env.folder}/objects`,
        process: env.livingProcess,
        small: env.store.smallObjects,
        uses: env.store.objectUses,
      });
      const [old, shared] = [await objects.put(Buffer.from('old')), await objects.put(Buffer.from('shared'))];
      assert.equal(shared, artifact);
      const changes = [old, shared].map((object, i) => {
        const before = { type: 'file', object, size: i, mode: 0o644 } as const;
        return { path: `${i}`, before, after: null, stored: true };
      });
      const { seq } = await env.store.audit.append(intent({ startTs: Date.now(), changes }), true);
      await env.store.audit.append(entry({ callId: 'call_1' }), true);
      const house = keepHouse({ ...partsOf(env, env.store, 2 * DAY_MS), clock: passing(2 * DAY_MS) });
      await eventually(async () => (await objects.size(old)) === undefined, 'the object goes');
      await house.close();
      assert.equal(await env.store.retention.givenUp(), seq);
      assert.equal(await objects.verify(shared), 'ok');
    }));

  it('goes on archiving while a sweep takes long, under unbroken load', () =>
    inStore(async (env) => {
      const parts = partsOf(env, env.store);
      let sweeping = false;
      let finish = () => {};
      const house = keepHouse({
        ...parts,
        clock: passing(0),
        artifacts: () => {
          sweeping = true;
          return new Promise((resolve, reject) => {
            finish = () => parts.artifacts().then(resolve, reject);
          });
        },
      });
      let calls = 0;
      const append = () => env.store.audit.append(entry({ callId: `call_${calls++}` }), false);
      await eventually(async () => {
        await append();
        return sweeping;
      }, 'a sweep begins');
      const before = (await env.store.retention.sizes()).archivedRows;
      await eventually(async () => {
        await append();
        return (await env.store.retention.sizes()).archivedRows > before + 16;
      }, 'segments beside it');
      finish();
      await house.close();
      assert.equal((await env.store.audit.verify()).ok, true);
      assert.equal(await (await env.reopen(env.deadProcess)).retention.claim(), true, 'released');
    }));

  it('does nothing where the policy is not trusted, and says once what goes wrong', () =>
    inStore(async (env) => {
      for (let i = 0; i < 40; i++)
        await env.store.audit.append(entry({ callId: `call_${i}`, startTs: Date.now() }), false);
      let asked = 0;
      const untrusted = keepHouse({
        ...partsOf(env, env.store),
        policy: () => {
          asked++;
          return undefined;
        },
      });
      await eventually(() => asked > 3, 'several looks');
      await untrusted.close();
      assert.equal((await env.store.retention.sizes()).archivedRows, 0);

      await env.tamper(3);
      let looks = 0;
      const parts = partsOf(env, env.store);
      const house = keepHouse({
        ...parts,
        head: () => {
          looks++;
          return parts.head();
        },
      });
      await eventually(() => looks > 5, 'several looks');
      await house.close();
      assert.equal(parts.said.length, 1);
      assert.match(parts.said[0]!, /row 3: /);
    }));
});

/** A clock on which every look is minutes after the one before. */
function passing(fromMs: number): { now(): number } {
  let passed = fromMs;
  return {
    now: () => {
      passed += 5 * 60_000;
      return Date.now() + passed;
    },
  };
}
