import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import { createFsHandle } from '../../capabilities/fs/handle.ts';
import type { Effect } from '../../contract/effect.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createToolHarness, type ToolHarness } from '../../testing/tool-harness.ts';
import { fsMove } from './fs-move.ts';
import { undo } from './undo.ts';

describe('fs_move', () => {
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
      [
        'a folder onto one that is not empty',
        { src: 'r/dir', dst: 'r/full', overwrite: true },
        'path.not_empty',
      ],
      ['the root', { src: '.', dst: 'r/new' }, 'path.protected'],
    ];
    for (const [what, args, reason] of TABLE) {
      for (const dry_run of [false, true]) {
        it(`${what}${dry_run ? ', in a dry run as well' : ''}`, async () => {
          const failure = await harness.refuse(fsMove, { ...args, dry_run });
          assert.equal(failure.reason, reason, failure.message);
          assert.ok(!failure.message.includes(harness.root), failure.message);
        });
      }
    }

    it('to bring a file that may not be read to where it may be', async () => {
      const denies = (effect: Effect) => effect.kind === 'fs.read' && effect.path === 'r/full/x';
      for (const src of ['r/full/x', 'r/full']) {
        const failure = await harness.refuse(fsMove, { src, dst: 'r/public' }, { denies });
        assert.equal(failure.reason, 'policy.denied');
      }
    });

    it('a place that may not be written', async () => {
      const denies = (effect: Effect) => effect.kind === 'fs.write' && effect.path === 'r/kept/x';
      const failure = await harness.refuse(fsMove, { src: 'r/full', dst: 'r/kept' }, { denies });
      assert.equal(failure.reason, 'policy.denied');
    });
  });
});
