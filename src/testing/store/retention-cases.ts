// Owns: what a store must do when old rows and old pre-images are given up.
// Refuses: how the rows are kept then; asked through the audit, they are as they were.
import assert from 'node:assert/strict';
import type { ObjectId } from '../../contract/object-store.ts';
import { entry, intent, type StoreCase, type StoreEnvironment } from './entries.ts';

const idOf = (digit: string): ObjectId => `sha256:${digit.repeat(64)}`;
const EVERYTHING = { rows: 0, since: Number.MAX_SAFE_INTEGER };

/** A call at this time that replaced such a file. */
async function change(
  { store }: StoreEnvironment,
  callId: string,
  startTs: number,
  object: ObjectId,
  size = 1000,
) {
  const before = { type: 'file', object, size, mode: 0o644 } as const;
  const changes = [{ path: 'a', before, after: null, stored: true }];
  const { seq } = await store.audit.append(intent({ callId, startTs, changes }), true);
  await store.audit.append(entry({ callId, startTs, changes }), true);
  return seq;
}

async function rootsOf({ store }: StoreEnvironment): Promise<readonly ObjectId[]> {
  const ids = new Set<ObjectId>();
  for await (const some of store.artifacts.roots(0)) for (const id of some) ids.add(id);
  return [...ids].sort();
}

export const RETENTION_CASES: readonly StoreCase[] = [
  {
    name: 'retention.archive changes nothing that the audit answers',
    async run(env) {
      const { audit, retention } = env.store;
      await change(env, 'call_1', 1000, idOf('1'));
      for (let i = 0; i < 10_000; i++) audit.appendSoon(entry({ callId: `read_${i}` })).catch(() => {});
      const ask = async () => [
        await audit.head(),
        await audit.verify(),
        await audit.rows({ callId: 'call_1' }),
        await audit.rows({ limit: 5 }),
        await audit.rows({ last: 5 }),
        await audit.body(1),
        await rootsOf(env),
      ];
      const before = await ask();
      const due = await retention.archivable(EVERYTHING);
      let moved = 0;
      for (let rows = -1; rows !== 0; moved += rows) rows = await retention.archive(EVERYTHING);
      assert.equal(moved, due);
      assert.ok(moved > 0);
      assert.deepEqual(await ask(), before);
      const other = await env.reopen();
      assert.equal((await other.audit.append(entry(), true)).seq, 10_003);
      assert.equal((await audit.verify()).ok, true);
    },
  },
  {
    name: 'retention.giveUp ends undo of old calls, and what they alone refer to is referred to no more',
    async run(env) {
      const { retention } = env.store;
      await change(env, 'call_1', 1000, idOf('1'));
      const second = await change(env, 'call_2', 2000, idOf('2'));
      await change(env, 'call_3', 3000, idOf('1'));
      const keep = { since: 2500, bytes: 1e9 };
      assert.equal(await retention.givenUp(), 0);
      const dry = await retention.giveUp(keep, { dryRun: true });
      assert.equal(await retention.givenUp(), 0);
      assert.deepEqual(await rootsOf(env), [idOf('1'), idOf('2')]);
      assert.deepEqual(await retention.giveUp(keep), dry);
      assert.deepEqual(dry, { calls: 2, bytes: 2000, upTo: second });
      assert.equal(await (await env.reopen()).retention.givenUp(), second);
      assert.deepEqual(await rootsOf(env), [idOf('1')]);
      assert.equal((await env.store.audit.rows({ callId: 'call_1' })).length, 2);
      // What was given up is not taken back.
      await retention.giveUp({ since: 0, bytes: 1e9 });
      assert.equal(await retention.givenUp(), second);
    },
  },
  {
    name: 'retention.giveUp keeps the newest calls whose pre-images are small enough together; equal ones count once',
    async run(env) {
      const { retention } = env.store;
      const first = await change(env, 'call_1', 1000, idOf('1'), 50_000);
      await change(env, 'call_2', 1000, idOf('2'), 50_000);
      for (let i = 0; i < 5; i++) await change(env, `again_${i}`, 1000, idOf('3'), 50_000);
      await retention.giveUp({ since: 0, bytes: 110_000 });
      assert.equal(await retention.givenUp(), first);
      assert.deepEqual(await rootsOf(env), [idOf('2'), idOf('3')]);
    },
  },
  {
    name: 'retention.giveUp ends undo of a call whose rows were archived before',
    async run(env) {
      const { audit, retention } = env.store;
      const seq = await change(env, 'call_1', 1000, idOf('1'));
      for (let i = 0; i < 10_000; i++) audit.appendSoon(entry({ callId: `read_${i}` })).catch(() => {});
      while ((await retention.archive(EVERYTHING)) > 0);
      assert.deepEqual(await rootsOf(env), [idOf('1')]);
      await retention.giveUp({ since: 2000, bytes: 1e9 });
      assert.equal(await retention.givenUp(), seq);
      assert.deepEqual(await rootsOf(env), []);
      assert.deepEqual(
        (await audit.rows({ callId: 'call_1' })).map(({ phase }) => phase),
        ['intent', 'outcome'],
      );
    },
  },
  {
    name: 'retention.claim is one process’s at a time, until it releases or dies',
    async run({ store, reopen, livingProcess, deadProcess }) {
      const dead = await reopen(deadProcess);
      assert.equal(await dead.retention.claim(), true);
      assert.equal(await store.retention.claim(), true, livingProcess);
      assert.equal(await store.retention.claim(), true);
      assert.equal(await (await reopen(deadProcess)).retention.claim(), false);
      await store.retention.release();
      assert.equal(await dead.retention.claim(), true);
    },
  },
];
