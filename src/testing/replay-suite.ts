// Owns: what every source of earlier results must do, as cases that any of them can be run through.
// Refuses: how a run gets its id; the cases make ids up.
import assert from 'node:assert/strict';
import type { ObjectId, ObjectStore } from '../contract/object-store.ts';
import type { KeptResult, ReplaySource } from '../contract/replay.ts';
import { type ConformanceCase, type Environment, registerCases } from './conformance.ts';

export interface ReplayEnvironment extends Environment {
  readonly source: ReplaySource;
  /** The objects that results name as their outputs. */
  readonly objects: Pick<ObjectStore, 'put'>;
  /** The same source, as a later process would have it. */
  reopen(): Promise<ReplaySource>;
  /** Changes, or removes, a stored object behind everybody's back. */
  damage(id: ObjectId): Promise<void>;
  remove(id: ObjectId): Promise<void>;
}

export type ReplayCase = ConformanceCase<ReplayEnvironment>;

const RUN = `run_${'a'.repeat(64)}`;
const OTHER_RUN = `run_${'b'.repeat(64)}`;

export const REPLAY_CASES: readonly ReplayCase[] = [
  {
    name: 'replay.find misses what was never kept',
    async run({ source }) {
      await source.keep(result());
      assert.equal(await source.find(OTHER_RUN), undefined);
      assert.equal(await source.find(''), undefined);
    },
  },
  {
    name: 'replay.find answers the data and the call that made it, also later',
    async run({ source, reopen }) {
      const data = { text: 'ünï "quoted"', list: [1, null, { deep: true }], empty: {} };
      await source.keep(result({ data, callId: 'call_7' }));
      for (const finder of [source, await reopen()]) {
        const hit = await finder.find(RUN);
        assert.deepEqual(hit?.data, data);
        assert.equal(hit?.callId, 'call_7');
      }
    },
  },
  {
    name: 'replay.find answers data of every kind of JSON',
    async run({ source }) {
      for (const [i, data] of [null, false, 0, '', [], 'text', 1.5].entries()) {
        await source.keep(result({ runId: `run_${i}`, data }));
        const hit = await source.find(`run_${i}`);
        assert.ok(hit, JSON.stringify(data));
        assert.deepEqual(hit.data, data);
      }
    },
  },
  {
    name: 'replay.keep remembers the data as it was, whatever happens to it afterwards',
    async run({ source }) {
      const data = { list: [1] };
      await source.keep(result({ data }));
      data.list.push(2);
      const first = (await source.find(RUN))?.data as typeof data;
      assert.deepEqual(first, { list: [1] });
      first.list.push(3);
      assert.deepEqual((await source.find(RUN))?.data, { list: [1] });
    },
  },
  {
    name: 'replay.find hits while every output is there, and misses once one is gone',
    async run({ source, objects, remove }) {
      const outputs = await store(objects);
      await source.keep(result({ outputs }));
      assert.ok(await source.find(RUN));
      await remove(outputs[1]!);
      assert.equal(await source.find(RUN), undefined);
    },
  },
  {
    name: 'replay.find misses when an output was changed in place',
    async run({ source, objects, damage }) {
      const outputs = await store(objects);
      await source.keep(result({ outputs }));
      await damage(outputs[0]!);
      assert.equal(await source.find(RUN), undefined);
    },
  },
  {
    name: 'replay.keep of the same run again makes a damaged result whole',
    async run({ source, objects, damage }) {
      const outputs = await store(objects);
      await source.keep(result({ outputs }));
      await damage(outputs[0]!);
      await store(objects);
      await source.keep(result({ outputs, callId: 'call_2' }));
      assert.ok(await source.find(RUN));
    },
  },
];

export function replaySuite(name: string, open: () => Promise<ReplayEnvironment>): void {
  registerCases(`${name} conforms to ReplaySource`, REPLAY_CASES, open);
}

function result(fields: Partial<KeptResult> = {}): KeptResult {
  return {
    runId: RUN,
    callId: 'call_1',
    preimage: { tool: 'render' },
    data: { ok: true },
    outputs: [],
    ...fields,
  };
}

async function store(objects: Pick<ObjectStore, 'put'>): Promise<ObjectId[]> {
  return [await objects.put(Buffer.from('first output')), await objects.put(Buffer.from('second output'))];
}
