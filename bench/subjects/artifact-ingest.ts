// Owns: what importing a large file costs, hash, durable copy and row together, against hashing and copying it one after the other.
// Refuses: to import the same bytes twice (they would be kept once), and to delete between rounds: all of it goes at the end.
import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { makeWorkspace } from '../fixtures.ts';
import { defineSubject, type Figures } from '../measure.ts';
import { runProcess } from '../processes.ts';
import { mustCall, openRuntime } from '../product.ts';

interface State {
  readonly workspace: string;
  readonly runtime: DefaultRuntime;
  readonly source: string;
  readonly rounds: { next: number };
}

const MIB = 1024 * 1024;
const SIZE = 1024 * MIB;

/** Random bytes, so that no file system makes less of them. */
function makeSource(path: string): void {
  const { randomFillSync } = process.getBuiltinModule('node:crypto');
  const file = openSync(path, 'w');
  const piece = Buffer.alloc(8 * MIB);
  for (let at = 0; at < SIZE; at += piece.length) writeSync(file, randomFillSync(piece), 0, piece.length, at);
  closeSync(file);
}

/** Another content for every round; and what others left to be written is on the disk before the clock starts. */
async function prepare({ source, rounds }: State): Promise<number> {
  const round = rounds.next++;
  const file = openSync(source, 'r+');
  writeSync(file, `round ${round} `, 0);
  closeSync(file);
  await runProcess('sync', []);
  return round;
}

async function timed(work: () => Promise<unknown>): Promise<Figures> {
  const start = performance.now();
  await work();
  return { each: performance.now() - start, rate: 1000 / (performance.now() - start) };
}

const PEER = 'sha256sum, then cp';
const DURABLE = 'sha256sum, then cp, then sync';

const copying =
  (durable: boolean) =>
  async (state: State): Promise<Figures> => {
    const round = await prepare(state);
    const copy = join(state.workspace, `copy-${round}`);
    return timed(async () => {
      await runProcess('sha256sum', [state.source]);
      await runProcess('cp', [state.source, copy]);
      if (durable) await runProcess('sync', [copy]);
    });
  };

export const artifactIngest = defineSubject<State>({
  name: 'artifact-ingest',
  group: 'runs',
  about:
    '`artifact_import` of a file of 1 GiB in process: read, hashed and copied at the same time, synced, registered, recorded; ' +
    'against `sha256sum` and then `cp` of the same file, which leaves the copy in memory, and against the same with a `sync` of the copy.',
  async open() {
    const workspace = makeWorkspace();
    // Few files, but gigabytes.
    process.once('exit', () => rmSync(workspace, { recursive: true, force: true }));
    const source = join(workspace, 'source.bin');
    makeSource(source);
    return { workspace, source, runtime: await openRuntime(workspace), rounds: { next: 0 } };
  },
  close: ({ runtime }) => runtime.close(),
  comparisons: [
    {
      name: '1 GiB of new bytes',
      // Each leaves a GiB behind until the end.
      rounds: 3,
      contenders: {
        'haft artifact_import': async (state) => {
          await prepare(state);
          return timed(async () => {
            const { size } = (await mustCall(state.runtime, 'artifact_import', { path: 'source.bin' })) as {
              size: number;
            };
            assert.equal(size, SIZE);
          });
        },
        [PEER]: copying(false),
        [DURABLE]: copying(true),
      },
      goals: [{ figure: 'rate', ratio: '>=', value: 1.5, of: PEER }],
      also: [
        { figure: 'each', of: PEER },
        { figure: 'rate', of: DURABLE },
      ],
    },
  ],
});
