// Owns: how fast a large tree is listed, against the program that is known for it.
// Refuses: to compare different answers: both must list the same files.
import assert from 'node:assert/strict';
import { rgPath } from '@vscode/ripgrep';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { repeat } from '../drive.ts';
import { makeTree, makeWorkspace, TREE } from '../fixtures.ts';
import { defineSubject } from '../measure.ts';
import { runProcess, timeProcess } from '../processes.ts';
import { mustCall, openRuntime } from '../product.ts';

interface State {
  readonly workspace: string;
  readonly runtime: DefaultRuntime;
}

const list = async ({ runtime }: State) =>
  (await mustCall(runtime, 'fs_list', { glob: '**', max_results: TREE.files })) as { files: string[] };

const timed = async (work: () => Promise<unknown>) => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

export const listInProcess = defineSubject<State>({
  name: 'list-in-process',
  about:
    '`fs_list` of a repository of 20,000 files (and 1,000 ignored ones) in process, sorted, against `rg --files` as a ' +
    'process whose output is read but not split or sorted.',
  async open() {
    const workspace = makeWorkspace();
    makeTree(workspace);
    const state = { workspace, runtime: await openRuntime(workspace) };
    const { output } = await runProcess(rgPath, ['--files'], workspace);
    const theirs = output.toString('utf8').trim().split('\n').sort();
    assert.equal(theirs.length, TREE.files);
    assert.deepEqual((await list(state)).files.toSorted(), theirs);
    return state;
  },
  close: ({ runtime }) => runtime.close(),
  comparisons: [
    {
      name: '20,000 files',
      rounds: 15,
      contenders: {
        'haft fs_list': (state) => repeat(4, () => timed(() => list(state))),
        'rg --files': ({ workspace }) => repeat(4, () => timeProcess(rgPath, ['--files'], workspace)),
      },
      goals: [{ figure: 'p50', ratio: '<=', value: 1.2, of: 'rg --files' }],
    },
  ],
});
