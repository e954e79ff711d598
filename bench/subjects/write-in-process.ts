// Owns: what durable, undoable, audited writes cost together, against plain ones done one after the other.
// Refuses: to delete files between rounds: ext4 makes the creates that follow slow.
import { mkdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { drive } from '../drive.ts';
import { makeFiles, makeWorkspace, sourceText } from '../fixtures.ts';
import { makeJournaledFolder } from '../journaled-folder.ts';
import { type Comparison, defineSubject } from '../measure.ts';
import { mustCall, openRuntime } from '../product.ts';

interface State {
  readonly workspace: string;
  readonly runtime: DefaultRuntime;
  readonly texts: readonly string[];
  /** Where the next new files go: a folder of its own for every round. */
  readonly folders: { next: number };
}

const OVERWRITTEN = 256;

/** Where the call with this number writes to. */
type Places = (state: State) => (index: number) => string;

const newFiles: Places = ({ workspace, folders }) => {
  const folder = `new-${folders.next++}`;
  mkdirSync(join(workspace, folder));
  return (index) => `${folder}/file-${index}.ts`;
};
const oldFiles =
  (name: string): Places =>
  () =>
  (index) =>
    `${name}${index % OVERWRITTEN}.ts`;

const text = ({ texts }: State) => texts[Math.floor(Math.random() * texts.length)]!;

async function plainWrite(path: string, content: string): Promise<void> {
  const file = await open(path, 'w');
  await file.writeFile(content);
  await file.sync();
  await file.close();
}

const comparison = (name: string, ours: Places, peer: Places, goal: number): Comparison<State> => ({
  name,
  rounds: 9,
  warmUps: 8,
  contenders: {
    'haft file_write': (state, { sliceMs }) => {
      const place = ours(state);
      const write = (index: number) =>
        mustCall(state.runtime, 'file_write', { path: place(index), content: text(state) });
      return drive(write, { inFlight: 64, ms: sliceMs * 2 });
    },
    'write + fsync': (state, { sliceMs }) => {
      const place = peer(state);
      const write = (index: number) => plainWrite(join(state.workspace, place(index)), text(state));
      return drive(write, { inFlight: 1, ms: sliceMs * 2 });
    },
  },
  goals: [{ figure: 'rate', ratio: '>=', value: goal, of: 'write + fsync' }],
});

export const writeInProcess = defineSubject<State>({
  name: 'write-in-process',
  about:
    'Durable 1 KiB `file_write` in process with intent, pre-image, fsync, rename, directory fsync and outcome, 64 in flight, ' +
    'against a plain write and fsync of `fs.promises`, one by one; on a file system with a journal.',
  async open() {
    const workspace = makeWorkspace(makeJournaledFolder());
    makeFiles(workspace, 'ours', OVERWRITTEN, 1024);
    makeFiles(workspace, 'theirs', OVERWRITTEN, 1024);
    const whole = sourceText(64 * 1024);
    const texts = Array.from({ length: 63 }, (_, i) => whole.slice(i * 1024, (i + 1) * 1024));
    return { workspace, texts, runtime: await openRuntime(workspace), folders: { next: 0 } };
  },
  close: ({ runtime }) => runtime.close(),
  comparisons: [
    comparison('new files, 64 in flight', newFiles, newFiles, 1.5),
    comparison('overwrites, 64 in flight', oldFiles('ours'), oldFiles('theirs'), 1.0),
  ],
});
