import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { fsCopy } from './fs-copy.ts';
import { describeRefusals } from './place-refusals-for-tests.ts';
import { undo } from './undo.ts';

const harness = await fileHarness();

describe('fs_copy', () => {
  it('copies a file, with its bits, into folders that it creates', async () => {
    harness.put('c/run.sh', 'x', 0o755);
    const { data, effects } = await harness.call(fsCopy, { src: 'c/run.sh', dst: 'd/e/run.sh' });
    assert.deepEqual(data, { copied: true });
    assert.deepEqual(
      [harness.tree()['c/run.sh'], harness.tree()['d/e/run.sh']],
      ['file 755 x', 'file 755 x'],
    );
    assert.deepEqual(effects, [
      { kind: 'fs.read', path: 'c/run.sh', tree: true },
      { kind: 'fs.write', path: 'd/e/run.sh', tree: true },
    ]);
  });

  it('leaves the bits out when told to', async () => {
    harness.put('c/run.sh', 'x', 0o755);
    await harness.call(fsCopy, { src: 'c/run.sh', dst: 'c/plain', preserve_mode: false });
    assert.equal(harness.tree()['c/plain'], 'file 644 x');
  });

  it('copies 8 MiB', async () => {
    const big = Buffer.alloc(8 * 1024 * 1024, 'abc');
    harness.put('big', big);
    await harness.call(fsCopy, { src: 'big', dst: 'big2' });
    assert.equal(sha256Hex(harness.text('big2')), sha256Hex(big));
  });

  it('copies a folder with everything in it, links as links, and undo removes it', async () => {
    harness.put('tree/a/b', 'b', 0o600);
    harness.put('tree/.hidden', 'h');
    symlinkSync('../../elsewhere', join(harness.root, 'tree/a/link'));
    const before = harness.tree();
    const { callId } = await harness.call(fsCopy, { src: 'tree', dst: 'copy' });
    const now = harness.tree();
    assert.deepEqual(
      [now['copy/a/b'], now['copy/.hidden'], now['copy/a/link'], now['tree/a/b']],
      ['file 600 b', 'file 644 h', 'link ../../elsewhere', 'file 600 b'],
    );
    await harness.call(undo, { call_id: callId });
    assert.deepEqual(harness.tree(), before);
  });

  it('copies what a link leads to', async () => {
    harness.put('t/target', 'x');
    symlinkSync('t/target', join(harness.root, 'link'));
    await harness.call(fsCopy, { src: 'link', dst: 'followed' });
    assert.equal(harness.tree().followed, 'file 644 x');
  });

  it('overwrites when told to, merges folders, and undo brings all back', async () => {
    harness.put('o/src/a', 'new');
    harness.put('o/dst/a', 'old', 0o600);
    harness.put('o/dst/b', 'kept');
    const before = harness.tree();
    const { callId } = await harness.call(fsCopy, { src: 'o/src', dst: 'o/dst', overwrite: true });
    assert.deepEqual([harness.text('o/dst/a'), harness.text('o/dst/b')], ['new', 'kept']);
    await harness.call(undo, { call_id: callId });
    assert.deepEqual(harness.tree(), before);
  });

  it('dry_run answers what would appear, and copies nothing', async () => {
    harness.put('dry/a', 'x');
    const before = harness.tree();
    const { data, changes } = await harness.call(fsCopy, { src: 'dry', dst: 'dry2', dry_run: true });
    assert.deepEqual([data.copied, data.dry_run], [false, true]);
    assert.deepEqual(data.changes, [
      { path: 'dry2/', change: 'create' },
      { path: 'dry2/a', change: 'create', bytes: 1 },
    ]);
    assert.deepEqual([harness.tree(), changes], [before, []]);
  });

  it('dry_run of one file shows what its copy would replace', async () => {
    harness.put('one/src', 'new\n');
    harness.put('one/there', 'old\n');
    const look = (dst: string) =>
      harness.call(fsCopy, { src: 'one/src', dst, overwrite: true, dry_run: true });
    assert.match(
      (await look('one/deep/copy')).data.diff ?? '',
      /^--- \/dev\/null\n\+\+\+ b\/one\/deep\/copy\n.*\n\+new$/m,
    );
    assert.match((await look('one/there')).data.diff ?? '', /^-old\n\+new$/m);
  });

  describeRefusals(fsCopy, harness);
});
