// Owns: what a store must do with the rows of artifacts: register, list, forget, and name what refers to objects.
// Refuses: bytes; an object store has those.
import assert from 'node:assert/strict';
import type { Artifact } from '../../contract/artifacts.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { entry, intent, type StoreCase, type StoreEnvironment } from './entries.ts';

const idOf = (digit: string): ObjectId => `sha256:${digit.repeat(64)}`;
const FILE = { id: idOf('a'), kind: 'file', size: 5, files: 1 } as const;
const TREE = { id: idOf('b'), kind: 'tree', size: 9000, files: 12 } as const;

export const ARTIFACT_CASES: readonly StoreCase[] = [
  {
    name: 'artifacts.register keeps one row for each, for every process',
    async run({ store, reopen }) {
      const before = Date.now();
      const first = await store.artifacts.register(FILE);
      assert.deepEqual(withoutTimes(first), FILE);
      assert.ok(first.createdTs >= before && first.usedTs === first.createdTs);
      const again = await store.artifacts.register(FILE);
      assert.equal(again.createdTs, first.createdTs);
      assert.ok(again.usedTs >= first.usedTs);
      const other = await reopen();
      assert.deepEqual(await other.artifacts.get(FILE.id), again);
      assert.equal(await other.artifacts.get(TREE.id), undefined);
      assert.deepEqual(await other.artifacts.list({ limit: 10 }), [again]);
    },
  },
  {
    name: 'artifacts.register lets what was kept as a file be a tree, and a tree stay one',
    async run({ store }) {
      await store.artifacts.register({ ...FILE, id: TREE.id });
      assert.deepEqual(withoutTimes(await store.artifacts.register(TREE)), TREE);
      assert.deepEqual(withoutTimes(await store.artifacts.register({ ...FILE, id: TREE.id })), TREE);
    },
  },
  {
    name: 'artifacts.list answers the newest first, page by page, of one kind where asked',
    async run({ store }) {
      const digits = [...'0123456789'];
      for (const digit of digits)
        await store.artifacts.register({ ...(Number(digit) % 2 ? TREE : FILE), id: idOf(digit) });
      const seen: ObjectId[] = [];
      for (let before: ObjectId | undefined; ; before = seen.at(-1)) {
        const page = await store.artifacts.list({ limit: 3, ...(before ? { before } : {}) });
        if (page.length === 0) break;
        seen.push(...page.map(({ id }) => id));
      }
      assert.deepEqual(seen, digits.toReversed().map(idOf));
      const trees = await store.artifacts.list({ limit: 100, kind: 'tree' });
      assert.deepEqual(
        trees.map(({ id }) => id),
        ['9', '7', '5', '3', '1'].map(idOf),
      );
      await assert.rejects(store.artifacts.list({ limit: 1, before: idOf('f') }), {
        reason: 'artifact.unknown',
      });
    },
  },
  {
    name: 'artifacts.forget drops what nobody used since, and says which',
    async run({ store }) {
      const { usedTs } = await store.artifacts.register(FILE);
      await store.artifacts.register(TREE);
      assert.deepEqual(await store.artifacts.forget([FILE.id, TREE.id], usedTs), []);
      await store.artifacts.use([TREE.id, idOf('f')]);
      const future = Date.now() + 1000;
      assert.deepEqual(await store.artifacts.forget([FILE.id, idOf('f')], future), [FILE.id]);
      assert.equal(await store.artifacts.get(FILE.id), undefined);
      assert.deepEqual(withoutTimes((await store.artifacts.get(TREE.id))!), TREE);
    },
  },
  {
    name: 'artifacts.roots names the pre-images of calls that can be undone, and nothing that was not stored',
    async run(env) {
      const change = (digit: string, stored = true) => ({
        path: `${digit}.txt`,
        before: { type: 'file', object: idOf(digit), size: 1, mode: 0o644 } as const,
        after: { type: 'file', object: idOf('f'), size: 1, mode: 0o644 } as const,
        stored,
      });
      const link = { path: 'l', before: { type: 'link', target: 'x' } as const, after: null, stored: true };
      const { audit } = env.store;
      await audit.append(intent({ callId: 'old', startTs: 1000, changes: [change('1')] }), true);
      await audit.append(entry({ callId: 'read', startTs: 3000 }), false);
      const changes = [change('2'), change('3', false), link];
      await audit.append(intent({ callId: 'new', startTs: 3000, changes }), true);
      await audit.append(entry({ callId: 'new', startTs: 3000, changes }), true);
      assert.deepEqual(await rootsOf(env, 0), ['1', '2'].map(idOf));
      assert.deepEqual(await rootsOf(env, 2000), ['2'].map(idOf));
    },
  },
  {
    name: 'artifacts.roots names inputs, outputs and policies of runs, and a row says which run made it',
    async run(env) {
      const { runs, artifacts } = env.store;
      if (!runs) return;
      const plan = { ...PLAN, inputs: [{ role: 'in', artifact: idOf('1'), dest: 'x' }] };
      const attempt = { id: 'att_1', purpose: 'run', backend: 'local', callId: 'call_1' } as const;
      const preimage = { policyHash: '9'.repeat(64) };
      const run = { runId: 'run_1', tool: 't', contract: 'v1', preimage, args: {}, plan };
      await runs.begin(run, attempt, 1000);
      const output = { role: 'sums', type: 'text/plain', label: 'Sums', artifact: FILE.id, size: FILE.size };
      const end = { failure: null, cause: null, exitCode: 0, message: '', observed: null };
      await runs.finish('att_1', { ...end, state: 'succeeded', outputs: [output], data: {} }, 2000);
      await runs.keep(
        { runId: 'run_2', callId: 'call_2', preimage: {}, data: {}, outputs: [idOf('3')] },
        3000,
      );
      assert.deepEqual(await rootsOf(env, 0), ['1', '3', '9', 'a'].map(idOf));
      const { madeBy } = await artifacts.register(FILE);
      assert.deepEqual(madeBy, { runId: 'run_1', role: 'sums', type: 'text/plain', label: 'Sums' });
      assert.equal((await artifacts.register(TREE)).madeBy, undefined);
      const [tree, file] = await artifacts.list({ limit: 10 });
      assert.deepEqual([tree?.madeBy, file?.madeBy], [undefined, madeBy]);
    },
  },
];

const PLAN = {
  argv: ['true'],
  env: {},
  outputs: [],
  resources: { cpus: 1, memoryBytes: 1, wallMs: 1, outputBytes: 1 },
};

async function rootsOf({ store }: StoreEnvironment, undoSince: number): Promise<readonly ObjectId[]> {
  const found = new Set<ObjectId>();
  for await (const ids of store.artifacts.roots(undoSince)) for (const id of ids) found.add(id);
  return [...found].sort();
}

function withoutTimes({ createdTs: _created, usedTs: _used, ...rest }: Artifact) {
  return rest;
}
