import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectStore } from '../contract/object-store.ts';
import type { KeptResult, ReplaySource } from '../contract/replay.ts';
import { openObjectsEnvironment } from '../stores/objects/environment-for-tests.ts';
import { failingCases } from './conformance.ts';
import { REPLAY_CASES, type ReplayEnvironment, replaySuite } from './replay-suite.ts';

/** The smallest source that is right: a map, and the real object store. */
async function openMemory(): Promise<Memory> {
  const env = await openObjectsEnvironment();
  const kept = new Map<string, KeptResult>();
  const source: ReplaySource = {
    async find(runId) {
      const found = kept.get(runId);
      if (!found) return undefined;
      for (const id of found.outputs) if ((await env.objects.verify(id)) !== 'ok') return undefined;
      return { data: structuredClone(found.data), callId: found.callId };
    },
    async keep(result) {
      kept.set(result.runId, structuredClone(result));
    },
  };
  return { ...env, kept, source, reopen: async () => source };
}

replaySuite('a source in memory', openMemory);

interface Memory extends ReplayEnvironment {
  readonly objects: ObjectStore;
  readonly kept: Map<string, KeptResult>;
}

const BROKEN: readonly {
  readonly fault: string;
  readonly caseName: RegExp;
  spoil(env: Memory): Partial<ReplaySource>;
}[] = [
  {
    fault: 'answers any run with the last result',
    caseName: /misses what was never kept/,
    spoil: ({ kept }) => ({ find: async () => [...kept.values()].at(-1) }),
  },
  {
    fault: 'takes false and nothing for a miss',
    caseName: /every kind of JSON/,
    spoil: ({ source }) => ({
      async find(runId) {
        const hit = await source.find(runId);
        return hit?.data ? hit : undefined;
      },
    }),
  },
  {
    fault: 'hands out what it keeps',
    caseName: /remembers the data as it was/,
    spoil: ({ kept }) => ({ find: async (runId) => kept.get(runId) }),
  },
  {
    fault: 'does not look whether outputs are there',
    caseName: /misses once one is gone/,
    spoil: ({ kept }) => ({ find: async (runId) => structuredClone(kept.get(runId)) }),
  },
  {
    fault: 'looks at the size of outputs only',
    caseName: /changed in place/,
    spoil: ({ kept, objects }) => ({
      async find(runId) {
        const found = kept.get(runId);
        for (const id of found?.outputs ?? []) if ((await objects.size(id)) === undefined) return undefined;
        return structuredClone(found);
      },
    }),
  },
];

describe('replaySuite notices a source that', () => {
  for (const { fault, caseName, spoil } of BROKEN) {
    it(fault, async () => {
      const cases = REPLAY_CASES.filter((one) => caseName.test(one.name));
      assert.equal(cases.length, 1);
      const open = async () => {
        const env = await openMemory();
        return { ...env, source: { ...env.source, ...spoil(env) } };
      };
      assert.deepEqual(
        await failingCases(cases, open),
        cases.map((one) => one.name),
      );
    });
  }
});
