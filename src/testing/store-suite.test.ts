import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AppendReceipt, Approval, ApprovalAnswer, AuditStore, Store } from '../contract/store.ts';
import { openSqliteEnvironment } from '../stores/sqlite/environment-for-tests.ts';
import { failingCases } from './conformance.ts';
import { STORE_CASES, type StoreEnvironment } from './store-suite.ts';

/** Somebody has read the audit. */
const looked = Promise.withResolvers<void>();

/** Ways to get a store wrong, and a case that must notice. */
const BROKEN: readonly { readonly fault: string; readonly caseName: RegExp; spoil(store: Store): Store }[] = [
  {
    fault: 'loses every third row',
    caseName: /counts from 1 without gaps/,
    spoil: (store) => {
      let calls = 0;
      let last: AppendReceipt = { seq: 0, usage: { calls: 0, wallMs: 0, bytes: 0 } };
      return withAudit(store, {
        async append(entry, durable) {
          if (++calls % 3 !== 0) last = await store.audit.append(entry, durable);
          return last;
        },
      });
    },
  },
  {
    fault: 'answers before the row is committed',
    caseName: /answers only once another process sees the row/,
    spoil: (store) =>
      withAudit(store, {
        async append(entry, durable) {
          const { count } = await store.audit.head();
          store.audit.append(entry, durable).catch(() => {});
          return { seq: count + 1, usage: { calls: 1, wallMs: 0, bytes: 0 } };
        },
      }),
  },
  {
    fault: 'forgets rows that nobody waits for',
    caseName: /appendSoon is seen at once by this store/,
    spoil: (store) =>
      withAudit(store, {
        appendSoon: async () => ({ seq: 0, usage: { calls: 0, wallMs: 0, bytes: 0 } }),
      }),
  },
  {
    fault: 'does not chain',
    caseName: /names the hash of the row before it/,
    spoil: (store) =>
      withAudit(store, {
        rows: async (query) =>
          (await store.audit.rows(query)).map((row) => ({ ...row, prev: '0'.repeat(64) })),
      }),
  },
  {
    fault: 'drops a column',
    caseName: /keeps every field/,
    spoil: (store) =>
      withAudit(store, {
        append: (entry, durable) => store.audit.append({ ...entry, runId: null }, durable),
      }),
  },
  {
    fault: 'verifies without looking',
    caseName: /names the first row that was changed/,
    spoil: (store) =>
      withAudit(store, { verify: async () => ({ ok: true, head: await store.audit.head() }) }),
  },
  {
    fault: 'ignores the kept head',
    caseName: /kept elsewhere/,
    spoil: (store) => withAudit(store, { verify: () => store.audit.verify() }),
  },
  {
    fault: 'counts intents as calls',
    caseName: /intents do not count/,
    spoil: (store) => {
      let intents = 0;
      return withAudit(store, {
        async append(entry, durable) {
          const { seq, usage } = await store.audit.append(entry, durable);
          if (entry.phase === 'intent') intents++;
          return { seq, usage: { ...usage, calls: usage.calls + intents } };
        },
      });
    },
  },
  {
    fault: 'takes what the dead left twice',
    caseName: /one lost outcome, to one caller/,
    spoil: (store) =>
      withAudit(store, { takeAbandoned: async () => store.audit.rows({ outcome: 'pending' }) }),
  },
  {
    fault: 'opens a session over another',
    caseName: /refuses an id that is taken/,
    spoil: (store) => ({
      ...store,
      sessions: { ...store.sessions, create: (session) => store.sessions.create(session).catch(() => {}) },
    }),
  },
  {
    fault: 'grants an approval twice',
    caseName: /exactly one of many callers/,
    spoil: (store) => {
      let granted: ApprovalAnswer | undefined;
      return withApprovals(store, {
        async consume(key, now) {
          const answer = await store.approvals.consume(key, now);
          if (answer?.status === 'granted') granted = answer;
          return granted ?? answer;
        },
      });
    },
  },
  {
    fault: 'grants what a person refused when it is given back',
    caseName: /giveBack lets what was used up/,
    spoil: (store) =>
      withApprovals(store, {
        giveBack: async (id) => {
          await store.approvals.decide(id, 'granted', 'nobody', 0);
          await store.approvals.giveBack(id);
        },
      }),
  },
  {
    fault: 'grants a call under another policy',
    caseName: /bound to tool, contract, policy and parameters/,
    spoil: (store) =>
      withApprovals(store, {
        async consume(key, now) {
          const [open] = await store.approvals.list({ status: 'granted' }, now);
          return store.approvals.consume({ ...key, policyHash: (open as Approval).policyHash }, now);
        },
      }),
  },
  {
    fault: 'asks again for the same call',
    caseName: /asks once for a call/,
    spoil: (store) =>
      withApprovals(store, {
        request: async (asked) => {
          await store.approvals.request(asked);
          return { ...asked, status: 'pending', decidedTs: null, decidedBy: null };
        },
      }),
  },
  {
    fault: 'lets two hold a lock',
    caseName: /lets one in at a time/,
    spoil: (store) => ({ ...store, locks: { acquire: async () => async () => {} } }),
  },
  {
    fault: 'takes a tree for a file',
    caseName: /keeps a tree apart/,
    spoil: (store) => ({
      ...store,
      locks: {
        acquire: (paths, signal) =>
          store.locks.acquire(
            paths.map(({ path }) => ({ path, tree: false })),
            signal,
          ),
      },
    }),
  },
  {
    fault: 'takes the paths one by one and keeps them when it gives up',
    caseName: /all paths or none/,
    spoil: (store) => ({
      ...store,
      locks: {
        async acquire(paths, signal) {
          const releases: (() => Promise<void>)[] = [];
          for (const path of paths) releases.push(await store.locks.acquire([path], signal));
          return async () => {
            for (const release of releases) await release();
          };
        },
      },
    }),
  },
  {
    fault: 'loses the reason of an abort',
    caseName: /rejects with the reason of the signal/,
    spoil: (store) => ({
      ...store,
      locks: {
        acquire: (paths, signal) =>
          store.locks.acquire(paths, signal).catch(() => {
            throw new Error('aborted');
          }),
      },
    }),
  },
  {
    fault: 'gives a lock back before it writes the row that came first',
    caseName: /behind a row lets nobody in before/,
    spoil: (store) => {
      const { append, rows } = store.audit;
      return withAudit(store, {
        append: (entry, durable) => looked.promise.then(() => append(entry, durable)),
        rows: (query) => rows(query).finally(looked.resolve),
      });
    },
  },
  {
    fault: 'enables what was disabled',
    caseName: /keeps packs that were added/,
    spoil: (store) => ({
      ...store,
      installations: {
        ...store.installations,
        list: async () => (await store.installations.list()).map((one) => ({ ...one, enabled: true })),
      },
    }),
  },
  {
    fault: 'takes credentials of one user for those of another',
    caseName: /keeps each owner and provider apart/,
    spoil: (store) => ({
      ...store,
      credentials: {
        ...store.credentials,
        async get({ provider }) {
          return (await store.credentials.list()).find((row) => row.provider === provider);
        },
      },
    }),
  },
  {
    fault: 'says of every attempt that it is new',
    caseName: /opens one attempt of a run, whoever asks/,
    spoil: (store) =>
      withRuns(store, {
        begin: async (...given) => ({ ...(await store.runs.begin(...given)), mine: true }),
      }),
  },
  {
    fault: 'ends an attempt twice',
    caseName: /where the table of transitions goes/,
    spoil: (store) => withRuns(store, { finish: (...given) => store.runs.finish(...given).catch(() => {}) }),
  },
  {
    fault: 'lets everybody adopt',
    caseName: /takes over what a dead process left/,
    spoil: (store) =>
      withRuns(store, {
        adopt: async (id) => (await store.runs.adopt(id)) ?? (await store.runs.attempt(id)),
      }),
  },
];

describe('storeSuite notices a store that', () => {
  for (const { fault, caseName, spoil } of BROKEN) {
    it(fault, async () => {
      const cases = STORE_CASES.filter((one) => caseName.test(one.name));
      assert.equal(cases.length, 1);
      assert.deepEqual(
        await failingCases(cases, () => openSpoiled(spoil)),
        cases.map((one) => one.name),
      );
    });
  }
});

async function openSpoiled(spoil: (store: Store) => Store): Promise<StoreEnvironment> {
  const env = await openSqliteEnvironment();
  return { ...env, store: spoil(env.store), reopen: async (process) => spoil(await env.reopen(process)) };
}

function withAudit(store: Store, audit: Partial<AuditStore>): Store {
  return { ...store, audit: { ...store.audit, ...audit } };
}

function withRuns(store: Store, runs: Partial<Store['runs']>): Store {
  return { ...store, runs: { ...store.runs, ...runs } };
}

function withApprovals(store: Store, approvals: Partial<Store['approvals']>): Store {
  return { ...store, approvals: { ...store.approvals, ...approvals } };
}
