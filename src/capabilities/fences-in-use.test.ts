// Owns: that records of fences are read only where they are files, and in every workspace of this user that holds the path.
// Refuses: what the records are for; exec/fences has that.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { createFenceLook, fencesInUse } from './fences-in-use.ts';

it('fencesInUse waits for no pipe, device or folder in the place of a record', () => {
  const root = mkdtempSync(join(tmpdir(), 'haft-fences-'));
  try {
    const folder = join(root, '.haft/placeholders');
    mkdirSync(join(folder, 'f-folder'), { recursive: true });
    execFileSync('mkfifo', [join(folder, 'f-pipe')]);
    symlinkSync('/dev/zero', join(folder, 'f-device'));
    writeFileSync(
      join(folder, 'f-whole'),
      JSON.stringify({ process: '1', entries: [{ path: '/of/a/program' }] }),
    );
    assert.deepEqual([...fencesInUse(root)], ['/of/a/program']);
  } finally {
    rmSync(root, { recursive: true });
  }
});

it('createFenceLook heeds the records of workspaces around a path, and no stranger’s', () => {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-fences-')));
  try {
    const path = join(root, 'work/sub/file');
    const recordIn = (folder: string): string => {
      mkdirSync(join(folder, '.haft/placeholders'), { recursive: true });
      const text = JSON.stringify({ process: '1', entries: [{ path }] });
      writeFileSync(join(folder, '.haft/placeholders/f-0'), text);
      return join(folder, '.haft');
    };
    const isFenced = () => createFenceLook(join(root, 'work'))(path);
    assert.equal(isFenced(), false);
    for (const folder of [root, join(root, 'work'), join(root, 'work/sub')]) {
      const state = recordIn(folder);
      assert.equal(isFenced(), true, folder);
      assert.equal(createFenceLook(join(root, 'work'), () => false)(path), false, 'its program has ended');
      rmSync(state, { recursive: true });
    }
    const state = recordIn(root);
    if (process.geteuid?.() === 0) {
      chownSync(state, 12345, 12345);
      assert.equal(isFenced(), false, 'it is somebody else’s');
      chownSync(state, 0, 0);
    }
    renameSync(state, join(root, 'elsewhere'));
    symlinkSync('elsewhere', state);
    assert.equal(isFenced(), false, 'it is a link');
  } finally {
    rmSync(root, { recursive: true });
  }
});
