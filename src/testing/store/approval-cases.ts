// Owns: what a store must do with approvals: ask once, answer once, use once, and only for the exact call.
// Refuses: who may answer; that is the hosts' affair.
import assert from 'node:assert/strict';
import { question, type StoreCase } from './entries.ts';

export const APPROVAL_CASES: readonly StoreCase[] = [
  {
    name: 'approvals.request asks once for a call, whoever asks',
    async run({ store, reopen }) {
      const other = await reopen();
      const first = await store.approvals.request(question());
      assert.deepEqual(first, { ...question(), status: 'pending', decidedTs: null, decidedBy: null });
      const again = await other.approvals.request(
        question({ id: 'appr_2', session: 'sess_2', createdTs: 1500 }),
      );
      assert.equal(again.id, 'appr_1');
      assert.deepEqual(await store.approvals.list({}, 1500), [first]);
    },
  },
  {
    name: 'approvals.request asks anew once the earlier question has expired or was used up',
    async run({ store }) {
      await store.approvals.request(question());
      const late = { createdTs: 2000, expiresTs: 3000 };
      assert.equal((await store.approvals.request(question({ id: 'appr_2', ...late }))).id, 'appr_2');
      await store.approvals.decide('appr_2', 'granted', 'person', 2100);
      assert.equal((await store.approvals.consume(question(), 2200))?.status, 'granted');
      assert.equal((await store.approvals.request(question({ id: 'appr_3', ...late }))).id, 'appr_3');
    },
  },
  {
    name: 'approvals.consume gives a granted approval to exactly one of many callers',
    async run({ store, reopen }) {
      const other = await reopen();
      await store.approvals.request(question());
      assert.equal(await store.approvals.consume(question(), 1100), undefined);
      const decided = await other.approvals.decide('appr_1', 'granted', 'person', 1200);
      assert.deepEqual(
        [decided?.status, decided?.decidedBy, decided?.decidedTs],
        ['granted', 'person', 1200],
      );
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) => (i % 2 ? store : other).approvals.consume(question(), 1300)),
      );
      const got = answers.filter((answer) => answer !== undefined);
      assert.deepEqual(got, [{ status: 'granted', id: 'appr_1', decidedBy: 'person' }]);
      assert.equal(await store.approvals.consume(question(), 1400), undefined);
      assert.equal((await store.approvals.get('appr_1'))?.status, 'consumed');
    },
  },
  {
    name: 'approvals.giveBack lets what was used up be used once more, and nothing else',
    async run({ store, reopen }) {
      await store.approvals.request(question());
      await store.approvals.giveBack('appr_1');
      assert.equal((await store.approvals.get('appr_1'))?.decidedBy, null);
      assert.equal(await store.approvals.consume(question(), 1100), undefined);
      await store.approvals.decide('appr_1', 'granted', 'person', 1200);
      await store.approvals.consume(question(), 1300);
      await store.approvals.giveBack('appr_1');
      const answers = await Promise.all(
        [store, await reopen()].map(({ approvals }) => approvals.consume(question(), 1400)),
      );
      assert.deepEqual(
        answers.filter((answer) => answer !== undefined),
        [{ status: 'granted', id: 'appr_1', decidedBy: 'person' }],
      );
      await store.approvals.giveBack('appr_1');
      assert.equal(await store.approvals.consume(question(), 2000), undefined, 'it expires all the same');
      await store.approvals.request(question({ id: 'appr_2', createdTs: 2100, expiresTs: 3000 }));
      await store.approvals.decide('appr_2', 'refused', 'person', 2200);
      await store.approvals.giveBack('appr_2');
      assert.equal((await store.approvals.consume(question(), 2300))?.status, 'refused');
    },
  },
  {
    name: 'approvals.consume is bound to tool, contract, policy and parameters',
    async run({ store }) {
      await store.approvals.request(question());
      await store.approvals.decide('appr_1', 'granted', 'person', 1100);
      const others = [{ tool: 'x' }, { contract: 'v2' }, { policyHash: 'x' }, { paramsHash: 'x' }];
      for (const other of others)
        assert.equal(await store.approvals.consume(question(other), 1200), undefined, JSON.stringify(other));
      assert.equal((await store.approvals.consume(question({ session: 'sess_2' }), 1200))?.status, 'granted');
    },
  },
  {
    name: 'approvals.consume says refused until the refusal expires',
    async run({ store }) {
      await store.approvals.request(question());
      await store.approvals.decide('appr_1', 'refused', 'person', 1100);
      assert.equal((await store.approvals.consume(question(), 1200))?.status, 'refused');
      assert.equal((await store.approvals.consume(question(), 1300))?.status, 'refused');
      assert.equal(await store.approvals.consume(question(), 2000), undefined);
    },
  },
  {
    name: 'an approval that expired is neither granted nor used',
    async run({ store }) {
      await store.approvals.request(question());
      assert.equal(await store.approvals.decide('appr_1', 'granted', 'person', 2000), undefined);
      await store.approvals.decide('appr_1', 'granted', 'person', 1999);
      assert.equal(await store.approvals.consume(question(), 2000), undefined);
      assert.equal((await store.approvals.list({ status: 'expired' }, 2000)).length, 1);
    },
  },
  {
    name: 'approvals.decide answers once; what is unknown or answered stays as it is',
    async run({ store }) {
      await store.approvals.request(question());
      assert.equal((await store.approvals.decide('appr_1', 'refused', 'one', 1100))?.status, 'refused');
      assert.equal(await store.approvals.decide('appr_1', 'granted', 'two', 1200), undefined);
      assert.equal(await store.approvals.decide('appr_2', 'granted', 'two', 1200), undefined);
      assert.equal((await store.approvals.list({ status: 'refused' }, 1200))[0]?.decidedBy, 'one');
      assert.deepEqual(await store.approvals.list({ status: 'pending' }, 1200), []);
      assert.equal(await store.approvals.get('appr_2'), undefined);
    },
  },
  {
    name: 'approvals.get and list have what a person judges by, until the time for an answer is over',
    async run({ store, reopen }) {
      const details = { args: { cmd: 'make' }, changes: [{ path: 'a' }], diff: '+x\n', notes: ['cut'] };
      await store.approvals.request(question({ details }));
      const other = await reopen();
      assert.deepEqual((await other.approvals.list({}, 1999))[0]?.details, details);
      assert.deepEqual((await other.approvals.list({}, 2000))[0]?.details, null);
      await store.approvals.request(question({ id: 'appr_2', createdTs: 2500, expiresTs: 3000 }));
      assert.deepEqual((await other.approvals.list({}, 1999))[0]?.details, null, 'it is no longer kept');
    },
  },
];
