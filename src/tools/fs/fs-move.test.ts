import assert from 'node:assert/strict';
import { existsSync, lstatSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { fsMove } from './fs-move.ts';
import { describeRefusals } from './place-refusals-for-tests.ts';
import { undo } from './undo.ts';

const harness = await fileHarness();

describe('fs_move', () => {
  it('moves a file, with its bits, into folders that it creates', async () => {
    harness.put('m/run.sh', 'x', 0o755);
    const { data, effects } = await harness.call(fsMove, { src: 'm/run.sh', dst: 'n/o/run.sh' });
    assert.deepEqual(data, { moved: true });
    assert.equal(harness.tree()['n/o/run.sh'], 'file 755 x');
    assert.ok(!existsSync(join(harness.root, 'm/run.sh')));
    assert.deepEqual(effects, [
      { kind: 'fs.read', path: 'm/run.sh', tree: true },
      { kind: 'fs.write', path: 'm/run.sh', tree: true },
      { kind: 'fs.write', path: 'n/o/run.sh', tree: true },
    ]);
  });

  it('moves a folder with everything in it, links as links', async () => {
    harness.put('tree/a/b', 'b', 0o600);
    harness.put('tree/.hidden', 'h');
    symlinkSync('../outside', join(harness.root, 'tree/a/link'));
    const inode = lstatSync(join(harness.root, 'tree/a/b')).ino;
    const { callId } = await harness.call(fsMove, { src: 'tree', dst: 'moved' });
    const now = harness.tree();
    assert.deepEqual(
      [now['moved/a/b'], now['moved/.hidden'], now['moved/a/link'], now.tree],
      ['file 600 b', 'file 644 h', 'link ../outside', undefined],
    );
    assert.equal(lstatSync(join(harness.root, 'moved/a/b')).ino, inode);
    await harness.call(undo, { call_id: callId });
    assert.equal(lstatSync(join(harness.root, 'tree/a/b')).ino, inode);
  });

  it('moves a link itself, also one that leads nowhere', async () => {
    symlinkSync('nowhere', join(harness.root, 'dangling'));
    await harness.call(fsMove, { src: 'dangling', dst: 'still' });
    assert.equal(harness.tree().still, 'link nowhere');
  });

  it('overwrites when told to, and undo brings both back', async () => {
    harness.put('o/src', 'new', 0o600);
    harness.put('o/dst', 'old', 0o755);
    const before = harness.tree();
    const { callId } = await harness.call(fsMove, { src: 'o/src', dst: 'o/dst', overwrite: true });
    assert.equal(harness.tree()['o/dst'], 'file 600 new');
    await harness.call(undo, { call_id: callId });
    assert.deepEqual(harness.tree(), before);
  });

  it('moves the version that is expected', async () => {
    harness.put('cas', 'v1');
    await harness.call(fsMove, { src: 'cas', dst: 'cas2', expected_sha256: sha256Hex('v1') });
    assert.equal(harness.text('cas2'), 'v1');
  });

  it('renames between Unicode forms of one name', async () => {
    harness.put('u/e\u0301', 'x');
    await harness.call(fsMove, { src: 'u/e\u0301', dst: 'u/\u00e9' });
    assert.deepEqual(
      Object.keys(harness.tree()).filter((path) => path.startsWith('u/')),
      ['u/\u00e9'],
    );
  });

  it('dry_run answers what would move, and moves nothing', async () => {
    harness.put('d/file', 'x');
    const before = harness.tree();
    const one = await harness.call(fsMove, { src: 'd/file', dst: 'd/new/file', dry_run: true });
    assert.deepEqual([one.data.moved, one.data.dry_run], [false, true]);
    assert.deepEqual(one.data.changes, [
      { path: 'd/new/', change: 'create' },
      { path: 'd/new/file', change: 'move', from: 'd/file', bytes: 1 },
    ]);
    assert.match(one.data.diff!, /rename from d\/file\nrename to d\/new\/file/);
    const tree = await harness.call(fsMove, { src: 'd', dst: 'e', dry_run: true });
    assert.deepEqual(tree.data.changes, [{ path: 'e/', change: 'move', from: 'd' }]);
    assert.deepEqual([harness.tree(), one.changes, tree.changes], [before, [], []]);
  });

  describeRefusals(fsMove, harness, [
    [
      'a folder onto one that is not empty',
      { src: 'r/dir', dst: 'r/full', overwrite: true },
      'path.not_empty',
    ],
    ['the root', { src: '.', dst: 'r/new' }, 'path.protected'],
  ]);
});
