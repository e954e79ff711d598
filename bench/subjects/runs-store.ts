// Owns: what it costs to list, explain and look up runs where there are ten thousand, against a fixed time and against a young store.
// Refuses: to count the toolpack's own time twice; `runs-replay.ts` has the replay by itself.
import assert from 'node:assert/strict';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { callBulk, fillRuns, makeBulkWorkspace } from '../bulk-runs.ts';
import { drive } from '../drive.ts';
import { type Comparison, defineSubject } from '../measure.ts';
import { openRuntime } from '../product.ts';

interface Site {
  readonly runtime: DefaultRuntime;
  readonly ids: readonly string[];
}
interface State {
  readonly grown: Site;
  readonly young: Site;
}

const RUNS = 10_000;
const FEW = 100;
const PAGE = 50;
const BUDGET = 'five milliseconds';
const PEER = `${FEW} runs`;

async function openSite(count: number): Promise<Site> {
  const workspace = makeBulkWorkspace();
  await fillRuns(workspace, count);
  const runtime = await openRuntime(workspace);
  const ids = (await runtime.runs.list({ limit: FEW })).map(({ runId }) => runId);
  assert.equal(ids.length, FEW);
  return { runtime, ids };
}

const QUESTIONS: Readonly<Record<string, (site: Site, index: number) => Promise<unknown>>> = {
  'list, a page of the newest': ({ runtime }) => page(runtime, {}),
  'list, a page of those that failed': ({ runtime }) => page(runtime, { state: 'failed' }),
  'explain two runs': ({ runtime, ids }, i) =>
    runtime.runs
      .explain(ids[i % FEW]!, ids[(i + 1) % FEW]!)
      .then(({ differences }) => assert.ok(differences.length > 0)),
  'explain a run beside the newest other': ({ runtime, ids }, i) => runtime.runs.explain(ids[i % FEW]!),
  'replay, the whole call': ({ runtime }) =>
    callBulk(runtime, 'first').then(({ replayed }) => assert.ok(replayed)),
};

async function page(runtime: DefaultRuntime, query: { readonly state?: 'failed' }): Promise<void> {
  assert.ok((await runtime.runs.list({ ...query, limit: PAGE })).length > 0);
}

const comparisons = Object.entries(QUESTIONS).map(
  ([name, ask]): Comparison<State> => ({
    name,
    rounds: 5,
    contenders: {
      [`${RUNS.toLocaleString('en')} runs`]: ({ grown }, { sliceMs }) =>
        drive((i) => ask(grown, i), { inFlight: 1, ms: sliceMs }),
      [BUDGET]: async () => ({ p50: 5, p95: 5 }),
      [PEER]: ({ young }, { sliceMs }) => drive((i) => ask(young, i), { inFlight: 1, ms: sliceMs }),
    },
    goals: [{ figure: 'p50', ratio: '<=', value: 1, of: BUDGET }],
    also: [{ figure: 'p50', of: PEER }],
  }),
);

export const runsStore = defineSubject<State>({
  name: 'runs-store',
  group: 'runs',
  about:
    'A store of 10,000 runs with their attempts, a tenth of them failed: a page of the list, why two runs differ, and an equal call ' +
    'answered by its run; each against five milliseconds, and beside it the same in a store of 100 runs.',
  async open() {
    return { grown: await openSite(RUNS), young: await openSite(FEW) };
  },
  async close({ grown, young }) {
    await Promise.all([grown.runtime.close(), young.runtime.close()]);
  },
  comparisons,
});
