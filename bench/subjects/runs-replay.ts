// Owns: what it costs to answer a call from an earlier run, every output verified, against a fixed time and against reading the bytes.
// Refuses: to execute anything while it measures: a call that is not replayed ends the run.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { callBulk, makeBulkWorkspace } from '../bulk-runs.ts';
import { drive } from '../drive.ts';
import { type Contender, defineSubject } from '../measure.ts';
import { openRuntime } from '../product.ts';

interface State {
  readonly workspace: string;
  readonly runtime: DefaultRuntime;
}

const BUDGET = 'two milliseconds';
const BARE = 'readFile + sha256';

const replay: Contender<State> = ({ runtime }, { sliceMs }) =>
  drive(async () => assert.ok((await callBulk(runtime, 'again')).replayed), { inFlight: 1, ms: sliceMs * 4 });

const bare: Contender<State> = ({ workspace }, { sliceMs }) =>
  drive(
    async () =>
      createHash('sha256')
        .update(await readFile(join(workspace, 'bytes')))
        .digest('hex'),
    { inFlight: 1, ms: sliceMs },
  );

export const runsReplay = defineSubject<State>({
  name: 'runs-replay',
  group: 'runs',
  about:
    'A call of a deterministic tool whose run has an output of 64 KiB and a log, known to its toolpack from before: its run named, ' +
    'policy asked, the result found, every output hashed again, the audit row committed; one at a time, against two milliseconds, and ' +
    'beside it reading and hashing such a file and nothing else.',
  async open() {
    const workspace = makeBulkWorkspace();
    writeFileSync(join(workspace, 'bytes'), Buffer.alloc(64 * 1024, 'y\n'));
    const runtime = await openRuntime(workspace);
    assert.equal((await callBulk(runtime, 'again')).replayed, false);
    return { workspace, runtime };
  },
  close: ({ runtime }) => runtime.close(),
  comparisons: [
    {
      name: 'an equal call, 64 KiB of outputs',
      rounds: 9,
      contenders: {
        'haft (replayed)': replay,
        [BUDGET]: async () => ({ p50: 2, p95: 2 }),
        [BARE]: bare,
      },
      goals: [{ figure: 'p50', ratio: '<=', value: 1, of: BUDGET }],
      also: [{ figure: 'p50', of: BARE }],
    },
  ],
});
