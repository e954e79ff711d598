// Owns: what makes a store's audit a chain that nobody can rewrite unseen.
// Refuses: to know how rows are stored; the environment tampers.
import assert from 'node:assert/strict';
import { entry } from './entries.ts';
import type { StoreCase } from './environment.ts';

const GENESIS = '0'.repeat(64);

export const CHAIN_CASES: readonly StoreCase[] = [
  {
    name: 'an empty audit verifies, and its head is the genesis',
    async run({ store }) {
      const head = { count: 0, hash: GENESIS };
      assert.deepEqual(await store.audit.head(), head);
      assert.deepEqual(await store.audit.verify(), { ok: true, head });
    },
  },
  {
    name: 'every row names the hash of the row before it, and the last one is the head',
    async run({ store }) {
      for (const callId of ['call_1', 'call_2', 'call_3']) await store.audit.append(entry({ callId }), false);
      const rows = await store.audit.rows({});
      assert.deepEqual(
        rows.map((row) => row.prev),
        [GENESIS, rows[0]?.hash, rows[1]?.hash],
      );
      assert.equal(new Set(rows.map((row) => row.hash)).size, 3);
      for (const row of rows) assert.match(row.hash, /^[0-9a-f]{64}$/);
      const head = { count: 3, hash: rows[2]!.hash };
      assert.deepEqual(await store.audit.head(), head);
      assert.deepEqual(await store.audit.verify(), { ok: true, head });
    },
  },
  {
    name: 'audit.verify names the first row that was changed behind its back',
    async run({ store, tamper }) {
      for (let i = 0; i < 6; i++) await store.audit.append(entry({ callId: `call_${i}` }), false);
      await tamper(5);
      await tamper(3);
      const verdict = await store.audit.verify();
      assert.equal(verdict.ok, false);
      assert.equal(verdict.ok === false && verdict.seq, 3);
    },
  },
  {
    name: 'audit.verify holds the chain against a head that was kept elsewhere',
    async run({ store }) {
      await store.audit.append(entry(), false);
      const kept = await store.audit.head();
      await store.audit.append(entry({ callId: 'call_2' }), false);
      assert.equal((await store.audit.verify(kept)).ok, true);
      assert.equal((await store.audit.verify({ count: 0, hash: GENESIS })).ok, true);
      assert.equal((await store.audit.verify({ count: 1, hash: 'f'.repeat(64) })).ok, false, 'rewritten');
      assert.equal((await store.audit.verify({ count: 3, hash: 'f'.repeat(64) })).ok, false, 'cut tail');
    },
  },
];
