// Owns: what governing costs a small read: the whole pipeline against the file system alone.
// Refuses: transports; `mcp-files.ts` has those.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { drive } from '../drive.ts';
import { makeFiles, makeWorkspace } from '../fixtures.ts';
import { defineSubject } from '../measure.ts';
import { mustCall, openRuntime } from '../product.ts';

interface State {
  readonly workspace: string;
  readonly runtime: DefaultRuntime;
  readonly files: readonly string[];
}

const bare = async ({ workspace, files }: State, index: number) => {
  const bytes = await readFile(join(workspace, files[index % files.length]!));
  return { content: bytes.toString('utf8'), sha256: createHash('sha256').update(bytes).digest('hex') };
};
const governed = ({ runtime, files }: State, index: number) =>
  mustCall(runtime, 'file_read', { path: files[index % files.length]! }, { recordFirst: true });

export const readInProcess = defineSubject<State>({
  name: 'read-in-process',
  about:
    '`file_read` of 1 KiB files in process, its audit row committed before the answer, 64 in flight, against ' +
    '`fs.promises.readFile` with its text and SHA-256 and nothing else.',
  async open() {
    const workspace = makeWorkspace();
    const state = {
      workspace,
      runtime: await openRuntime(workspace),
      files: makeFiles(workspace, 'read', 256, 1024),
    };
    const { content, sha256 } = (await governed(state, 0)) as { content: string; sha256: string };
    assert.deepEqual({ content, sha256 }, await bare(state, 0));
    return state;
  },
  close: ({ runtime }) => runtime.close(),
  comparisons: [
    {
      name: '1 KiB, 64 in flight',
      rounds: 15,
      contenders: {
        'haft file_read': (state, { sliceMs }) =>
          drive((index) => governed(state, index), { inFlight: 64, ms: sliceMs }),
        'readFile + sha256': (state, { sliceMs }) =>
          drive((index) => bare(state, index), { inFlight: 64, ms: sliceMs }),
      },
      goals: [{ figure: 'each', ratio: '<=', value: 1.2, of: 'readFile + sha256' }],
    },
    {
      name: '1 KiB, one at a time',
      rounds: 9,
      contenders: {
        'haft file_read': (state, { sliceMs }) =>
          drive((index) => governed(state, index), { inFlight: 1, ms: sliceMs }),
        'readFile + sha256': (state, { sliceMs }) =>
          drive((index) => bare(state, index), { inFlight: 1, ms: sliceMs }),
      },
      goals: [],
      also: [{ figure: 'p50', of: 'readFile + sha256' }],
    },
  ],
});
