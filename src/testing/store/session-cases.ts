// Owns: what a store must do with sessions.
// Refuses: budgets and narrowing; the runtime enforces those.
import assert from 'node:assert/strict';
import type { SessionRecord } from '../../contract/store.ts';
import { entry, type StoreCase } from './entries.ts';

const SESSION: Omit<SessionRecord, 'usage'> = {
  id: 'sess_1',
  createdTs: 1000,
  expiresTs: 9000,
  attribution: { agent: 'tester' },
  registry: { version: 1, tools: { default: 'deny' } },
  budget: { calls: 5 },
};
const NOTHING = { calls: 0, wallMs: 0, bytes: 0 };

export const SESSION_CASES: readonly StoreCase[] = [
  {
    name: 'sessions.create keeps a session for every process',
    async run({ store, reopen }) {
      await store.sessions.create(SESSION);
      const other = await reopen();
      assert.deepEqual(await other.sessions.get('sess_1'), { ...SESSION, usage: NOTHING });
      const bare = {
        ...SESSION,
        id: 'sess_0',
        expiresTs: null,
        attribution: null,
        registry: null,
        budget: null,
      };
      await other.sessions.create({ ...bare, createdTs: 2000 });
      assert.deepEqual(
        (await store.sessions.list()).map((session) => session.id),
        ['sess_1', 'sess_0'],
      );
      assert.equal(await store.sessions.get('sess_2'), undefined);
    },
  },
  {
    name: 'sessions.create refuses an id that is taken, and changes nothing',
    async run({ store }) {
      await store.sessions.create(SESSION);
      await assert.rejects(store.sessions.create({ ...SESSION, registry: null }), {
        code: 'E_VALIDATION_FAIL',
      });
      assert.deepEqual((await store.sessions.get('sess_1'))?.registry, SESSION.registry);
    },
  },
  {
    name: 'sessions.get tells what was used, also of a session that only its calls name',
    async run({ store }) {
      await store.sessions.create(SESSION);
      const used = { startTs: 10, endTs: 13, bytes: 7 };
      await store.audit.append(entry({ ...used, session: 'sess_1' }), false);
      store.audit.appendSoon(entry({ ...used, session: 'sess_unopened' })).catch(() => {});
      const usage = { calls: 1, wallMs: 3, bytes: 7 };
      assert.deepEqual(await store.sessions.get('sess_1'), { ...SESSION, usage });
      assert.deepEqual((await store.sessions.get('sess_unopened'))?.usage, usage);
      await store.sessions.create({ ...SESSION, id: 'sess_unopened' });
      assert.deepEqual(await store.sessions.get('sess_unopened'), { ...SESSION, id: 'sess_unopened', usage });
    },
  },
  {
    name: 'sessions.reserve counts what ended and what is under way, over several stores, until the outcome',
    async run({ store, reopen }) {
      await store.sessions.create(SESSION);
      const other = await reopen();
      const outcome = (callId: string) => entry({ callId, session: 'sess_1' });
      assert.equal(await store.sessions.reserve('sess_1', 'call_1', 2), undefined);
      assert.equal(await other.sessions.reserve('sess_1', 'call_2', 2), undefined);
      assert.equal(await other.sessions.reserve('sess_1', 'call_3', 2), 2);
      assert.equal(await other.sessions.reserve('sess_2', 'call_4', 1), undefined, 'another session');
      const counted = store.audit.append(outcome('call_1'), false);
      const refused = store.sessions.reserve('sess_1', 'call_5', 2);
      assert.equal((await counted).usage.calls, 1);
      assert.equal(await refused, 2, 'it ended, and counts once');
      assert.equal(await store.sessions.reserve('sess_1', 'call_5', 3), undefined);
      await other.audit.append(outcome('call_2'), false);
      assert.equal(await other.sessions.reserve('sess_1', 'call_6', 3), 3);
      assert.equal((await store.sessions.get('sess_1'))?.usage.calls, 2);
    },
  },
  {
    name: 'sessions.reserve takes what a process that died had reserved',
    async run({ store, reopen, deadProcess }) {
      const dead = await reopen(deadProcess);
      assert.equal(await dead.sessions.reserve('sess_1', 'call_1', 1), undefined);
      assert.equal(await store.sessions.reserve('sess_1', 'call_2', 1), undefined);
      assert.equal(await store.sessions.reserve('sess_1', 'call_3', 1), 1);
    },
  },
  {
    name: 'sessions.end sets the end, and refuses an unknown session',
    async run({ store }) {
      await store.sessions.create(SESSION);
      await store.sessions.end('sess_1', 1234);
      assert.equal((await store.sessions.get('sess_1'))?.expiresTs, 1234);
      await assert.rejects(store.sessions.end('sess_2', 1234), { reason: 'session.unknown' });
    },
  },
];
