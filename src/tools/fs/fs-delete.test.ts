import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import type { Effect } from '../../contract/effect.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { fsDelete } from './fs-delete.ts';
import { undo } from './undo.ts';

const harness = await fileHarness();

describe('fs_delete', () => {
  it('deletes a file, and undo brings it back', async () => {
    harness.put('file', 'x', 0o750);
    const before = harness.tree();
    const { data, effects, callId } = await harness.call(fsDelete, { path: 'file' });
    assert.deepEqual(data, { deleted: true });
    assert.deepEqual(effects, [{ kind: 'fs.write', path: 'file' }]);
    assert.ok(!existsSync(join(harness.root, 'file')));
    await harness.call(undo, { call_id: callId });
    assert.deepEqual(harness.tree(), before);
  });

  it('deletes a link, never what it leads to', async () => {
    harness.put('target/x', 'x');
    symlinkSync('target', join(harness.root, 'link'));
    symlinkSync('/etc', join(harness.root, 'outside'));
    await harness.call(fsDelete, { path: 'link', recursive: true });
    await harness.call(fsDelete, { path: 'outside', recursive: true });
    assert.equal(harness.text('target/x'), 'x');
    assert.deepEqual([harness.tree().link, harness.tree().outside], [undefined, undefined]);
  });

  it('deletes an empty folder', async () => {
    mkdirSync(join(harness.root, 'empty'));
    assert.equal((await harness.call(fsDelete, { path: 'empty' })).data.deleted, true);
  });

  it('deletes a folder with everything in it when told to, and undo brings all back', async () => {
    harness.put('tree/a/b', 'b', 0o600);
    harness.put('tree/.hidden', 'h');
    mkdirSync(join(harness.root, 'tree/empty'), 0o700);
    symlinkSync('nowhere', join(harness.root, 'tree/a/link'));
    const before = harness.tree();
    const { callId, effects } = await harness.call(fsDelete, { path: 'tree', recursive: true });
    assert.deepEqual(effects, [{ kind: 'fs.write', path: 'tree', tree: true }]);
    assert.ok(!existsSync(join(harness.root, 'tree')));
    await harness.call(undo, { call_id: callId });
    assert.deepEqual(harness.tree(), before);
  });

  it('says deleted: false for nothing when forced', async () => {
    assert.equal((await harness.call(fsDelete, { path: 'no/such', force: true })).data.deleted, false);
  });

  it('deletes the version that is expected', async () => {
    harness.put('cas', 'v2');
    const failure = await harness.refuse(fsDelete, { path: 'cas', expected_sha256: sha256Hex('v1') });
    assert.deepEqual([failure.reason, failure.details?.actual_sha256], ['file.conflict', sha256Hex('v2')]);
    await harness.call(fsDelete, { path: 'cas', expected_sha256: sha256Hex('v2') });
  });

  it('dry_run answers what would go, and deletes nothing', async () => {
    harness.put('dry/a', 'line\n');
    const before = harness.tree();
    const file = await harness.call(fsDelete, { path: 'dry/a', dry_run: true });
    assert.deepEqual(file.data.changes, [{ path: 'dry/a', change: 'delete', bytes: 5 }]);
    assert.match(file.data.diff!, /deleted file mode[\s\S]*\n-line\n/);
    const tree = await harness.call(fsDelete, { path: 'dry', recursive: true, dry_run: true });
    assert.deepEqual(tree.data.changes, [
      { path: 'dry/a', change: 'delete', bytes: 5 },
      { path: 'dry/', change: 'delete' },
    ]);
    assert.deepEqual([tree.data.deleted, tree.data.diff], [false, undefined]);
    assert.deepEqual([harness.tree(), file.changes, tree.changes], [before, [], []]);
  });

  it('dry_run names a thousand entries at most, and says so', async () => {
    for (let i = 0; i < 1001; i++) harness.put(`many/${i}`, '');
    const args = { path: 'many', recursive: true, dry_run: true };
    const { data, warnings } = await harness.call(fsDelete, args);
    assert.deepEqual([data.changes?.length, warnings[0]?.reason], [1000, 'content.truncated']);
    await harness.call(fsDelete, { ...args, dry_run: false });
  });

  describe('refuses', () => {
    before(() => {
      harness.put('r/full/x', 'x');
      symlinkSync('/etc', join(harness.root, 'r/outside'));
      execFileSync('mkfifo', [join(harness.root, 'r/fifo')]);
    });

    const TABLE: [string, Record<string, string | boolean>, string][] = [
      ['a folder that is not empty', { path: 'r/full' }, 'path.not_empty'],
      ['nothing', { path: 'r/none' }, 'path.not_found'],
      ['nothing below a file', { path: 'r/full/x/y' }, 'path.not_found'],
      ['the root', { path: '.', recursive: true }, 'path.protected'],
      ['the root by another name', { path: 'r/..', recursive: true, force: true }, 'path.protected'],
      ['a FIFO', { path: 'r/fifo' }, 'path.not_regular'],
      ['climbing', { path: '../x', force: true }, 'path.outside_workspace'],
      ['an absolute path elsewhere', { path: '/etc/hostname' }, 'path.outside_workspace'],
      ['through a link that leaves', { path: 'r/outside/hostname' }, 'path.outside_workspace'],
      ['no path', {}, 'input.schema'],
      ['an argument that there is not', { path: 'r/full', dryRun: true }, 'input.schema'],
    ];
    for (const [what, args, reason] of TABLE) {
      for (const dry_run of [false, true]) {
        it(`${what}${dry_run ? ', in a dry run as well' : ''}`, async () => {
          const failure = await harness.refuse(fsDelete, { ...args, dry_run });
          assert.equal(failure.reason, reason, failure.message);
          assert.ok(!failure.message.includes(harness.root), failure.message);
        });
      }
    }

    it('a tree in which something may not be written', async () => {
      const denies = (effect: Effect) => 'path' in effect && effect.path === 'r/full/x';
      const failure = await harness.refuse(fsDelete, { path: 'r/full', recursive: true }, { denies });
      assert.equal(failure.reason, 'policy.denied');
    });

    it('more than undo may keep, unless told no_undo', async () => {
      harness.put('large/x', 'x'.repeat(2000));
      const args = { path: 'large', recursive: true };
      const failure = await harness.refuse(fsDelete, args, { undoMaxBytes: 1000 });
      assert.equal(failure.reason, 'undo.too_large');
      await harness.call(fsDelete, { ...args, no_undo: true }, { undoMaxBytes: 1000 });
    });
  });
});
