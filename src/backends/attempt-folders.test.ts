import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { AttemptFolders } from '../contract/runs.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../preset/default.ts';
import { createAttemptFolders } from './attempt-folders.ts';

let folder: string;
let runtime: DefaultRuntime;
let folders: AttemptFolders;
let out: string;

before(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'haft-attempts-')));
  runtime = await createDefaultRuntime({ workspace: folder });
  folders = createAttemptFolders({ root: join(folder, 'attempts'), artifacts: await runtime.artifacts() });
  const plan = { argv: [], env: {}, inputs: [], outputs: [] };
  const resources = { cpus: 1, memoryBytes: 1, wallMs: 1, outputBytes: 1 };
  out = join(await folders.prepare('att_1', { ...plan, resources }), 'out');
  execFileSync(
    'sh',
    ['-c', 'echo a > file; mkdir -p tree/e; echo b > tree/e/f; ln -s tree link; ln -s file l'],
    {
      cwd: out,
    },
  );
});
after(async () => {
  await runtime.close();
  rmSync(folder, { recursive: true });
});

describe('collect', () => {
  it('makes a file and a folder artifacts, each where it is declared as what it is', async () => {
    const file = await folders.collect('att_1', 'file');
    assert.deepEqual([file.kind, file.size], ['file', 2]);
    const tree = await folders.collect('att_1', 'tree/');
    assert.deepEqual([tree.kind, tree.size, tree.files], ['tree', 2, 1]);
    assert.equal(tree.id, (await (await runtime.artifacts()).importPath(join(out, 'tree'))).id);
  });
  for (const src of ['file/', 'tree', 'link/', 'link', 'l', 'l/', 'none', 'none/'])
    it(`refuses "${src}"`, async () => {
      await assert.rejects(folders.collect('att_1', src), { reason: 'run.outputs' });
    });
});
