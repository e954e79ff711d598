import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import { createFsHandle } from '../../capabilities/fs/handle.ts';
import type { Effect } from '../../contract/effect.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createToolHarness, type ToolHarness } from '../../testing/tool-harness.ts';
import { fsCopy } from './fs-copy.ts';
import { undo } from './undo.ts';

describe('fs_copy', () => {
  let harness: ToolHarness;
  before(async () => {
    const openObjects = (folder: string) => openObjectStore({ folder, process: 'test' });
    harness = await createToolHarness({
      capabilities: { fs: createFsHandle },
      openObjects,
      schemas: createSchemaCompiler(),
    });
  });
  after(() => harness.close());

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

  describe('refuses', () => {
    before(() => {
      harness.put('r/file', 'content');
      harness.put('r/full/x', 'x');
      mkdirSync(join(harness.root, 'r/dir'));
      symlinkSync('/etc', join(harness.root, 'r/outside'));
    });

    const TABLE: [string, Record<string, string | boolean>, string][] = [
      ['nothing', { src: 'r/none', dst: 'r/new' }, 'path.not_found'],
      ['what is there', { src: 'r/file', dst: 'r/full/x' }, 'path.exists'],
      ['an empty folder that is there', { src: 'r/file', dst: 'r/dir' }, 'path.exists'],
      ['a file onto a folder', { src: 'r/file', dst: 'r/full', overwrite: true }, 'path.is_directory'],
      ['a folder onto a file', { src: 'r/full', dst: 'r/file', overwrite: true }, 'path.not_directory'],
      ['a folder into itself', { src: 'r/full', dst: 'r/full/in/it' }, 'path.invalid'],
      ['something onto itself', { src: 'r/file', dst: 'r/./file', overwrite: true }, 'path.invalid'],
      [
        'a missing folder, without create_dirs',
        { src: 'r/file', dst: 'r/no/x', create_dirs: false },
        'path.not_found',
      ],
      ['below a file', { src: 'r/full/x', dst: 'r/file/x' }, 'path.not_directory'],
      [
        'another version',
        { src: 'r/file', dst: 'r/new', expected_sha256: sha256Hex('other') },
        'file.conflict',
      ],
      [
        'a version of a folder',
        { src: 'r/full', dst: 'r/new', expected_sha256: sha256Hex('') },
        'file.conflict',
      ],
      ['climbing from', { src: '../x', dst: 'r/new' }, 'path.outside_workspace'],
      ['climbing to', { src: 'r/file', dst: '../x' }, 'path.outside_workspace'],
      [
        'through a link that leaves, from',
        { src: 'r/outside/passwd', dst: 'r/new' },
        'path.outside_workspace',
      ],
      ['through a link that leaves, to', { src: 'r/file', dst: 'r/outside/x' }, 'path.outside_workspace'],
      ['no destination', { src: 'r/file' }, 'input.schema'],
      ['an argument that there is not', { src: 'r/file', dst: 'r/new', force: true }, 'input.schema'],
    ];
    for (const [what, args, reason] of TABLE) {
      for (const dry_run of [false, true]) {
        it(`${what}${dry_run ? ', in a dry run as well' : ''}`, async () => {
          const failure = await harness.refuse(fsCopy, { ...args, dry_run });
          assert.equal(failure.reason, reason, failure.message);
          assert.ok(!failure.message.includes(harness.root), failure.message);
        });
      }
    }

    it('to bring a file that may not be read to where it may be', async () => {
      const denies = (effect: Effect) => effect.kind === 'fs.read' && effect.path === 'r/full/x';
      for (const src of ['r/full/x', 'r/full']) {
        const failure = await harness.refuse(fsCopy, { src, dst: 'r/public' }, { denies });
        assert.equal(failure.reason, 'policy.denied');
      }
    });

    it('a place that may not be written', async () => {
      const denies = (effect: Effect) => effect.kind === 'fs.write' && effect.path === 'r/kept/x';
      const failure = await harness.refuse(fsCopy, { src: 'r/full', dst: 'r/kept' }, { denies });
      assert.equal(failure.reason, 'policy.denied');
    });
  });
});
