// Owns: what a store's audit must do with rows: keep, order, count and find them, in a chain that nobody can rewrite unseen.
// Refuses: to know how rows are stored; the environment tampers.
import assert from 'node:assert/strict';
import type { AuditRow } from '../../contract/store.ts';
import { entry, intent, type StoreCase } from './entries.ts';

export const AUDIT_CASES: readonly StoreCase[] = [
  {
    name: 'audit.append keeps every field as it was given',
    async run({ store }) {
      const full = entry({
        callId: 'call_ünï',
        attribution: { agent: 'a "quoted" name', nested: { list: [1, null, true] } },
        effects: [
          { kind: 'fs.write', path: 'a\nb' },
          { kind: 'exec', command: 'echo "x"' },
        ],
        errors: [{ code: 'E_POLICY', reason: 'policy.denied' }],
        outcome: 'denied',
        decision: { verdict: 'deny', rule: 'paths.rules["x\u0000y"]' },
        runId: 'run_1',
        changes: [{ path: 'a', before: { type: 'absent' }, after: { type: 'absent' } } as never],
      });
      await store.audit.append(full, true);
      await store.audit.append(intent({ callId: 'call_2' }), true);
      const [first, second] = await store.audit.rows({});
      assert.deepEqual(fieldsOf(first!), full);
      assert.deepEqual(fieldsOf(second!), intent({ callId: 'call_2' }));
    },
  },
  {
    name: 'audit.append counts from 1 without gaps and keeps the order of calls',
    async run({ store }) {
      const receipts = await Promise.all(
        numbers(200).map((i) => store.audit.append(entry({ callId: `call_${i}` }), i % 3 === 0)),
      );
      assert.deepEqual(
        receipts.map((receipt) => receipt.seq),
        numbers(200).map((i) => i + 1),
      );
      const rows = await store.audit.rows({});
      assert.deepEqual(
        rows.map((row) => [row.seq, row.callId]),
        numbers(200).map((i) => [i + 1, `call_${i}`]),
      );
    },
  },
  {
    name: 'audit.append answers only once another process sees the row',
    async run({ store, reopen }) {
      const other = await reopen();
      for (const durable of [false, true]) {
        const { seq } = await store.audit.append(entry(), durable);
        assert.equal((await other.audit.head()).count, seq);
      }
    },
  },
  {
    name: 'audit.appendSoon is seen at once by this store, and by others within 50 ms of a quiet moment',
    async run({ store, reopen }) {
      const other = await reopen();
      const soon = numbers(3).map((i) => store.audit.appendSoon(entry({ callId: `call_${i}` })));
      assert.equal((await store.audit.head()).count, 3);
      assert.deepEqual(
        (await store.audit.rows({})).map((row) => row.callId),
        numbers(3).map((i) => `call_${i}`),
      );
      assert.equal((await Promise.all(soon)).at(-1)?.seq, 3);
      // Nobody asks for this one: it comes by itself.
      const { seq } = await store.audit.appendSoon(entry());
      assert.equal((await other.audit.head()).count, seq);
    },
  },
  {
    name: 'audit.appendSoon keeps its place before rows that are appended after it',
    async run({ store }) {
      const rows = numbers(150).map((i) =>
        i % 7 === 0
          ? store.audit.append(entry({ callId: `call_${i}` }), false)
          : store.audit.appendSoon(entry({ callId: `call_${i}` })),
      );
      await Promise.all(rows);
      assert.deepEqual(
        (await store.audit.rows({})).map((row) => row.callId),
        numbers(150).map((i) => `call_${i}`),
      );
      assert.equal((await store.audit.verify()).ok, true);
    },
  },
  {
    name: 'audit.appendSoon is written before the store is closed',
    async run({ store, reopen }) {
      const other = await reopen();
      store.audit.appendSoon(entry()).catch(() => {});
      await store.close();
      assert.equal((await other.audit.head()).count, 1);
    },
  },
  {
    name: 'audit.append of several stores makes one sequence',
    async run({ store, reopen }) {
      const other = await reopen();
      await Promise.all(
        numbers(100).map((i) => (i % 2 ? store : other).audit.append(entry({ callId: `call_${i}` }), false)),
      );
      const rows = await store.audit.rows({});
      assert.deepEqual(
        rows.map((row) => row.seq),
        numbers(100).map((i) => i + 1),
      );
      assert.equal(new Set(rows.map((row) => row.callId)).size, 100);
      assert.equal((await store.audit.verify()).ok, true);
    },
  },
  {
    name: 'audit.append refuses what has no canonical form, and goes on',
    async run({ store }) {
      await assert.rejects(store.audit.append(entry({ attribution: { bad: NaN } }), false), {
        reason: 'input.not_canonical',
      });
      assert.equal((await store.audit.append(entry(), false)).seq, 1);
    },
  },
  {
    name: 'the audit outlives the store that wrote it',
    async run({ store, reopen }) {
      await store.audit.append(entry(), false);
      const head = await store.audit.head();
      await store.close();
      const later = await reopen();
      assert.deepEqual(await later.audit.head(), head);
      assert.equal((await later.audit.append(entry(), false)).seq, 2);
      assert.equal((await later.audit.verify()).ok, true);
    },
  },
  {
    name: 'audit.rows finds rows by tool, session, call and outcome, from the front or the back',
    async run({ store }) {
      for (const i of numbers(12)) {
        const even = i % 2 === 0;
        const fields = { callId: `call_${i}`, tool: even ? 'even' : 'odd', session: `sess_${i % 3}` };
        await store.audit.append(entry({ ...fields, outcome: i === 7 ? 'failed' : 'ok' }), false);
      }
      const seqs = async (query: Parameters<typeof store.audit.rows>[0]) =>
        (await store.audit.rows(query)).map((row) => row.seq);
      assert.deepEqual(await seqs({ tool: 'even' }), [1, 3, 5, 7, 9, 11]);
      assert.deepEqual(await seqs({ tool: 'even', session: 'sess_0' }), [1, 7]);
      assert.deepEqual(await seqs({ callId: 'call_4' }), [5]);
      assert.deepEqual(await seqs({ callId: 'call_99' }), []);
      assert.deepEqual(await seqs({ outcome: 'failed' }), [8]);
      assert.deepEqual(await seqs({ afterSeq: 9 }), [10, 11, 12]);
      assert.deepEqual(await seqs({ afterSeq: 2, limit: 3 }), [3, 4, 5]);
      assert.deepEqual(await seqs({ last: 2 }), [11, 12]);
      assert.deepEqual(await seqs({ last: 2, tool: 'odd' }), [10, 12]);
      assert.deepEqual(await seqs({ last: 100, afterSeq: 10 }), [11, 12]);
      assert.deepEqual(await seqs({ limit: 0 }), []);
    },
  },
  {
    name: 'audit.rows finds intent and outcome of a call that changed something',
    async run({ store }) {
      await store.audit.append(intent({ callId: 'call_1' }), true);
      await store.audit.append(entry({ callId: 'call_2' }), false);
      await store.audit.append(entry({ callId: 'call_1', tool: 'file_write' }), true);
      const rows = await store.audit.rows({ callId: 'call_1' });
      assert.deepEqual(
        rows.map((row) => [row.seq, row.phase]),
        [
          [1, 'intent'],
          [3, 'outcome'],
        ],
      );
      const [newest] = await store.audit.rows({ callId: 'call_1', last: 1 });
      assert.equal(newest?.seq, 3);
    },
  },
  {
    name: 'audit.append answers what the session has used, over all stores; intents do not count',
    async run({ store, reopen }) {
      const other = await reopen();
      const took = (ms: number, bytes: number) => ({ startTs: 1000, endTs: 1000 + ms, bytes });
      const first = await store.audit.append(entry(took(5, 10)), false);
      assert.deepEqual(first.usage, { calls: 1, wallMs: 5, bytes: 10 });
      const second = await other.audit.append(entry(took(7, 20)), false);
      assert.deepEqual(second.usage, { calls: 2, wallMs: 12, bytes: 30 });
      const meant = await store.audit.append(intent({ bytes: 500 }), true);
      assert.deepEqual(meant.usage, { calls: 2, wallMs: 12, bytes: 30 });
      const elsewhere = await store.audit.append(entry({ ...took(1, 1), session: 'sess_2' }), false);
      assert.deepEqual(elsewhere.usage, { calls: 1, wallMs: 1, bytes: 1 });
      const many = await Promise.all(numbers(5).map(() => store.audit.append(entry(took(1, 1)), false)));
      assert.deepEqual(
        many.map((receipt) => receipt.usage.calls),
        [3, 4, 5, 6, 7],
      );
    },
  },
  {
    name: 'audit.takeAbandoned gives each intent of a dead process one lost outcome, to one caller',
    async run({ store, reopen, livingProcess, deadProcess }) {
      const other = await reopen();
      await store.audit.append(intent({ callId: 'call_dead', process: deadProcess }), true);
      await store.audit.append(intent({ callId: 'call_alive', process: livingProcess }), true);
      await store.audit.append(intent({ callId: 'call_done', process: deadProcess }), true);
      await store.audit.append(entry({ callId: 'call_done', process: deadProcess }), true);
      const taken = await Promise.all([store.audit.takeAbandoned(5000), other.audit.takeAbandoned(5000)]);
      assert.deepEqual(
        taken.flat().map((row) => [row.callId, row.phase]),
        [['call_dead', 'intent']],
      );
      const [, lost] = await store.audit.rows({ callId: 'call_dead' });
      assert.deepEqual([lost?.phase, lost?.outcome, lost?.endTs], ['outcome', 'lost', 5000]);
      assert.deepEqual(await other.audit.takeAbandoned(6000), []);
      assert.equal((await store.audit.verify()).ok, true);
    },
  },
  {
    name: 'audit.takeAbandoned writes nothing when there is nothing to take',
    async run({ store, livingProcess }) {
      await store.audit.append(intent({ process: livingProcess }), true);
      const head = await store.audit.head();
      assert.deepEqual(await store.audit.takeAbandoned(5000), []);
      assert.deepEqual(await store.audit.head(), head);
    },
  },
];

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

function fieldsOf({ seq: _seq, prev: _prev, hash: _hash, ...fields }: AuditRow) {
  return fields;
}

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
