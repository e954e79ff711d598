// Owns: what a store's locks must keep apart, let through and give back.
// Refuses: timing; a case shows order, never duration.
import assert from 'node:assert/strict';
import type { LockRequest, Store } from '../../contract/store.ts';
import { entry, type StoreCase } from './entries.ts';

export const LOCK_CASES: readonly StoreCase[] = [
  {
    name: 'locks.acquire lets one in at a time, over several stores',
    async run({ store, reopen }) {
      const other = await reopen();
      let inside = 0;
      let most = 0;
      const work = async (from: Store): Promise<void> => {
        const release = await from.locks.acquire([file('a.txt')], NEVER);
        most = Math.max(most, ++inside);
        await pass(from);
        inside--;
        await release();
      };
      await Promise.all(Array.from({ length: 12 }, (_, i) => work(i % 2 ? store : other)));
      assert.equal(most, 1);
    },
  },
  {
    name: 'locks.acquire serves those who wait in the order in which they came',
    async run({ store }) {
      const release = await store.locks.acquire([file('a.txt')], NEVER);
      const order: number[] = [];
      const waiting = [0, 1, 2, 3, 4].map(async (i) => {
        const done = await store.locks.acquire([file('a.txt')], NEVER);
        order.push(i);
        await done();
      });
      await release();
      await Promise.all(waiting);
      assert.deepEqual(order, [0, 1, 2, 3, 4]);
    },
  },
  {
    name: 'locks.acquire keeps a tree apart from what is below and above it, and nothing else',
    async run({ store }) {
      const pairs: readonly [LockRequest, LockRequest, boolean][] = [
        [tree('src'), file('src/a/b.ts'), true],
        [file('src/a/b.ts'), tree('src'), true],
        [tree('src'), tree('src/a'), true],
        [tree('src/a'), tree('src'), true],
        [tree('.'), file('x'), true],
        [file('x/y'), tree('.'), true],
        [tree('src'), file('src'), true],
        [tree('src'), file('src2/a'), false],
        [file('src'), file('src/a'), false],
        [file('a'), file('b'), false],
        [tree('a/b'), file('a/bc'), false],
        [tree('a/b'), file('a'), false],
      ];
      for (const [first, second, apart] of pairs) {
        const release = await store.locks.acquire([first], NEVER);
        const waits = await isWaiting(store, second);
        await release();
        assert.equal(waits, apart, `${JSON.stringify(first)} then ${JSON.stringify(second)}`);
      }
    },
  },
  {
    name: 'locks.acquire takes all paths or none',
    async run({ store }) {
      const release = await store.locks.acquire([file('b')], NEVER);
      const aborted = new AbortController();
      const both = store.locks.acquire([file('a'), file('b')], aborted.signal);
      const refused = assert.rejects(both);
      await pass(store);
      aborted.abort(new Error('enough'));
      await refused;
      assert.equal(await isWaiting(store, file('a')), false);
      await release();
      assert.equal(await isWaiting(store, file('b')), false);
    },
  },
  {
    name: 'locks.acquire cannot deadlock over paths taken in different order',
    async run({ store, reopen }) {
      const other = await reopen();
      const work = async (from: Store, paths: readonly LockRequest[]): Promise<void> => {
        const release = await from.locks.acquire(paths, NEVER);
        await pass(from);
        await release();
      };
      await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          i % 2 ? work(store, [file('a'), file('b')]) : work(other, [file('b'), file('a')]),
        ),
      );
    },
  },
  {
    name: 'locks.acquire rejects with the reason of the signal, and leaves nothing behind',
    async run({ store, reopen }) {
      const other = await reopen();
      const reason = new Error('the caller went away');
      await assert.rejects(store.locks.acquire([file('a')], AbortSignal.abort(reason)), reason);
      const release = await store.locks.acquire([file('a')], NEVER);
      for (const waiter of [store, other]) {
        const aborted = new AbortController();
        const refused = assert.rejects(waiter.locks.acquire([file('a')], aborted.signal), reason);
        await pass(waiter);
        aborted.abort(reason);
        await refused;
      }
      await release();
      assert.equal(await isWaiting(store, file('a')), false);
    },
  },
  {
    name: 'a lock that is released twice frees it once',
    async run({ store }) {
      const release = await store.locks.acquire([file('a')], NEVER);
      await release();
      const next = await store.locks.acquire([file('a')], NEVER);
      await release();
      assert.equal(await isWaiting(store, file('a')), true);
      await next();
    },
  },
  {
    name: 'a lock that is given back behind a row lets nobody in before the row is there',
    async run({ store, reopen }) {
      const other = await reopen();
      const release = await store.locks.acquire([file('a')], NEVER);
      const next = other.locks.acquire([file('a')], NEVER);
      const written = store.audit.append(entry({ callId: 'call_first' }), true);
      const released = release();
      const releaseNext = await next;
      const rows = await other.audit.rows({});
      assert.deepEqual(
        rows.map((row) => row.callId),
        ['call_first'],
      );
      await Promise.all([written, released, releaseNext()]);
    },
  },
  {
    name: 'locks of a process that died are free',
    async run({ store, reopen, deadProcess }) {
      const dead = await reopen(deadProcess);
      await dead.locks.acquire([tree('src')], NEVER);
      const release = await store.locks.acquire([file('src/a')], AbortSignal.timeout(10_000));
      await release();
    },
  },
  {
    name: 'closing a store gives back what it held',
    async run({ store, reopen }) {
      const other = await reopen();
      await other.locks.acquire([file('a')], NEVER);
      const next = store.locks.acquire([file('a')], AbortSignal.timeout(10_000));
      await other.close();
      await (await next)();
    },
  },
];

const NEVER = new AbortController().signal;
const file = (path: string): LockRequest => ({ path, tree: false });
const tree = (path: string): LockRequest => ({ path, tree: true });

/** Gives the store every chance to do what it should not: some rounds of real work. */
async function pass(store: Store): Promise<void> {
  for (let i = 0; i < 3; i++) await store.audit.append(entry(), false);
}

async function isWaiting(store: Store, request: LockRequest): Promise<boolean> {
  const aborted = new AbortController();
  let granted = false;
  const attempt = store.locks.acquire([request], aborted.signal).then(
    (release) => {
      granted = true;
      return release();
    },
    () => {},
  );
  await pass(store);
  const waits = !granted;
  aborted.abort();
  await attempt;
  return waits;
}
