import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { Effect } from '../../contract/effect.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { filePatch } from './file-patch.ts';
import { fileRead } from './file-read.ts';
import { fileWrite } from './file-write.ts';
import { fsCopy } from './fs-copy.ts';
import { fsDelete } from './fs-delete.ts';
import { fsMove } from './fs-move.ts';
import { undo } from './undo.ts';

const harness = await fileHarness();

describe('undo', () => {
  interface Conflict {
    readonly path: string;
    readonly fact: string;
    readonly diff?: string;
    readonly diff_since?: string;
  }
  const conflictsOf = (failure: { details?: unknown }) =>
    (failure.details as { conflicts: Conflict[] }).conflicts;

  it('restores what a call changed, and says which paths', async () => {
    harness.put('a/file', 'old', 0o640);
    const before = harness.tree();
    const { callId } = await harness.call(fileWrite, { path: 'a/file', content: 'new', mode_octal: '0600' });
    const { data, effects } = await harness.call(undo, { call_id: callId });
    assert.deepEqual(data, { undone: true, restored: ['a/file'] });
    assert.deepEqual(effects, [
      { kind: 'fs.read', path: 'a/file' },
      { kind: 'fs.write', path: 'a/file' },
    ]);
    assert.deepEqual(harness.tree(), before);
  });

  it('removes what a call created, with the folders that it made', async () => {
    const before = harness.tree();
    const { callId } = await harness.call(fileWrite, { path: 'x/y/z', content: 'new' });
    const { data } = await harness.call(undo, { call_id: callId });
    assert.deepEqual([data.restored, data.removed], [[], ['x', 'x/y', 'x/y/z']]);
    assert.deepEqual(harness.tree(), before);
  });

  it('removes what a call with no_undo created', async () => {
    const before = harness.tree();
    const { callId } = await harness.call(fileWrite, { path: 'made', content: 'new', no_undo: true });
    await harness.call(undo, { call_id: callId });
    assert.deepEqual(harness.tree(), before);
  });

  it('can itself be undone', async () => {
    harness.put('twice', 'v1');
    const first = await harness.call(fileWrite, { path: 'twice', content: 'v2' });
    const second = await harness.call(undo, { call_id: first.callId });
    await harness.call(undo, { call_id: second.callId });
    assert.equal(harness.text('twice'), 'v2');
  });

  it('takes calls back one after the other', async () => {
    harness.put('chain', '1\n');
    const calls: string[] = [];
    for (let i = 2; i <= 5; i++) {
      const args = { path: 'chain', unified_diff: `@@\n-${i - 1}\n+${i}\n` };
      calls.push((await harness.call(filePatch, args)).callId);
    }
    for (const call_id of calls.toReversed()) await harness.call(undo, { call_id });
    assert.equal(harness.text('chain'), '1\n');
  });

  it('refuses what is already undone, naming the call that did, also when the file changed since', async () => {
    harness.put('twice', 'v1');
    const { callId } = await harness.call(fileWrite, { path: 'twice', content: 'v2' });
    const { callId: by } = await harness.call(undo, { call_id: callId });
    for (const change of [undefined, 'v3', 'v2']) {
      if (change) harness.put('twice', change);
      const failure = await harness.refuse(undo, { call_id: callId });
      assert.deepEqual([failure.reason, failure.details?.undone_by], ['undo.already', by]);
      assert.match(failure.message, /already undone/);
    }
    harness.put('twice', 'v1');
    // Taken back in turn, it stands again.
    const { callId: again } = await harness.call(undo, { call_id: by });
    assert.equal(harness.text('twice'), 'v2');
    assert.equal((await harness.refuse(undo, { call_id: by })).details?.undone_by, again);
    await harness.call(undo, { call_id: callId });
    assert.equal(harness.text('twice'), 'v1');
  });

  it('a dry run is no undo', async () => {
    harness.put('dry twice', 'v1');
    const { callId } = await harness.call(fileWrite, { path: 'dry twice', content: 'v2' });
    await harness.call(undo, { call_id: callId, dry_run: true });
    await harness.call(undo, { call_id: callId });
    assert.equal(harness.text('dry twice'), 'v1');
  });

  it('says so where nothing had to be restored', async () => {
    harness.put('again', 'v1');
    const { callId } = await harness.call(fileWrite, { path: 'again', content: 'v2' });
    harness.put('again', 'v1');
    const { data, warnings } = await harness.call(undo, { call_id: callId });
    assert.deepEqual([data, warnings[0]?.reason], [{ undone: true, restored: [] }, 'undo.nothing']);
  });

  if (process.geteuid?.() === 0) {
    it('says what it could not give back, and fs_copy what it could not keep', async () => {
      harness.put('owned/theirs', 'x', 0o4755);
      const [home, theirs] = [dirname(harness.root), join(harness.root, 'owned/theirs')];
      execFileSync('chown', ['-R', '65534:65534', home]);
      chownSync(theirs, 1234, 65_534);
      chmodSync(theirs, 0o4755);
      const groups = process.getgroups!();
      process.setgroups!([]);
      process.setegid!(65_534);
      process.seteuid!(65_534);
      try {
        const copy = await harness.call(fsCopy, { src: 'owned', dst: 'copied' });
        const kept = copy.data.not_kept?.map(({ path, what }) => `${path} ${what}`);
        assert.deepEqual(kept, ['copied/theirs set_user_id']);
        assert.equal(copy.warnings[0]?.reason, 'file.not_kept');
        const { callId } = await harness.call(fsDelete, { path: 'owned/theirs' });
        for (const dry_run of [true, false]) {
          const { data, warnings } = await harness.call(undo, { call_id: callId, dry_run });
          const lost = data.not_restored?.map(({ path, what }) => `${path} ${what}`);
          assert.deepEqual(lost, ['owned/theirs owner', 'owned/theirs set_user_id']);
          assert.match(warnings[0]!.message, /^Not restored: owner of "owned\/theirs" \(it was user 1234/);
        }
        assert.equal(harness.tree()['owned/theirs'], 'file 755 x');
      } finally {
        process.seteuid!(0);
        process.setegid!(0);
        process.setgroups!(groups);
        execFileSync('chown', ['-R', '0:0', home]);
      }
    });
  }

  describe('dry_run', () => {
    it('answers the diff that would restore, and changes nothing', async () => {
      harness.put('dry', 'old\n');
      const { callId } = await harness.call(fileWrite, { path: 'dry', content: 'new\n' });
      const before = harness.tree();
      const { data, changes } = await harness.call(undo, { call_id: callId, dry_run: true });
      assert.deepEqual([data.undone, data.dry_run, data.restored], [false, true, ['dry']]);
      assert.match(data.diff!, /\n-new\n\+old\n$/);
      assert.deepEqual([harness.tree(), changes], [before, []]);
    });

    it('answers what would come back of a tree', async () => {
      harness.put('drytree/a', 'x\n');
      const { callId } = await harness.call(fsDelete, { path: 'drytree', recursive: true });
      const { data } = await harness.call(undo, { call_id: callId, dry_run: true });
      assert.deepEqual(
        data.changes?.map(({ path, change }) => [path, change]),
        [
          ['drytree/', 'create'],
          ['drytree/a', 'create'],
        ],
      );
      assert.match(data.diff!, /new file mode[\s\S]*\+x\n/);
    });

    it('is refused where the undo would be', async () => {
      harness.put('dryc', 'old\n');
      const { callId } = await harness.call(fileWrite, { path: 'dryc', content: 'new\n' });
      harness.put('dryc', 'other\n');
      const failure = await harness.refuse(undo, { call_id: callId, dry_run: true });
      assert.equal(failure.reason, 'undo.conflict');
    });
  });

  it('leaves a folder that it made when others use it by now, and says so', async () => {
    const { callId } = await harness.call(fileWrite, { path: 'made/file', content: 'x' });
    harness.put('made/other', 'work');
    const { data, warnings } = await harness.call(undo, { call_id: callId });
    assert.deepEqual(data, { undone: true, restored: [], removed: ['made/file'] });
    assert.match(warnings[0]?.message ?? '', /Left the folder "made"/);
    assert.equal(harness.text('made/other'), 'work');
  });

  describe('refuses', () => {
    it('to destroy what came after, with the diff of it', async () => {
      harness.put('c/file', 'one\n');
      const { callId } = await harness.call(fileWrite, { path: 'c/file', content: 'two\n' });
      harness.put('c/file', 'two\nmore\n');
      const failure = await harness.refuse(undo, { call_id: callId });
      assert.equal(failure.reason, 'undo.conflict');
      const [conflict] = conflictsOf(failure);
      assert.deepEqual([conflict?.path, conflict?.fact], ['c/file', 'has other content by now']);
      assert.equal(conflict?.diff_since, 'before');
      assert.match(conflict.diff!, /\n-one\n\+two\n\+more\n$/);
    });

    it('to destroy a later call, with the diff of just that', async () => {
      harness.put('c/later', 'one\n');
      const { callId } = await harness.call(fileWrite, { path: 'c/later', content: 'two\n' });
      await harness.call(fileWrite, { path: 'c/later', content: 'two\nmore\n' });
      const [conflict] = conflictsOf(await harness.refuse(undo, { call_id: callId }));
      assert.equal(conflict?.diff_since, 'after');
      assert.match(conflict.diff!, /\n two\n\+more\n$/);
    });

    const becomesFolder = (path: string) => {
      rmSync(path);
      mkdirSync(path);
    };
    const becomesLink = (path: string) => {
      rmSync(path);
      symlinkSync('/etc/passwd', path);
    };
    const CHANGED: [string, (path: string) => void, string][] = [
      ['is gone', (path) => rmSync(path), 'is gone'],
      ['became a folder', becomesFolder, 'is now a dir'],
      ['became a link', becomesLink, 'is now a link'],
      ['has other bits', (path) => chmodSync(path, 0o600), 'has other permission bits by now'],
    ];
    for (const [what, change, fact] of CHANGED) {
      it(`when a file ${what}`, async () => {
        harness.put('c/changed', 'one\n');
        const { callId } = await harness.call(fileWrite, { path: 'c/changed', content: 'two\n' });
        change(join(harness.root, 'c/changed'));
        const failure = await harness.refuse(undo, { call_id: callId });
        assert.deepEqual([failure.reason, conflictsOf(failure)[0]?.fact], ['undo.conflict', fact]);
        rmSync(join(harness.root, 'c/changed'), { recursive: true, force: true });
      });
    }

    it('when something is where it deleted', async () => {
      harness.put('c/deleted', 'one\n');
      const { callId } = await harness.call(fsDelete, { path: 'c/deleted' });
      harness.put('c/deleted', 'new\n');
      const failure = await harness.refuse(undo, { call_id: callId });
      assert.deepEqual([failure.reason, conflictsOf(failure)[0]?.fact], ['undo.conflict', 'is there again']);
    });

    it('when a moved tree was touched', async () => {
      harness.put('from/x', '1');
      const { callId } = await harness.call(fsMove, { src: 'from', dst: 'to' });
      harness.put('to/x', '22');
      assert.equal((await harness.refuse(undo, { call_id: callId })).reason, 'undo.conflict');
    });

    it('all of a call when one file of it changed', async () => {
      harness.put('p/a', 'x\n');
      harness.put('p/b', 'x\n');
      const hunk = '@@\n-x\n+y\n';
      const unified_diff = `--- a/a\n+++ b/a\n${hunk}--- a/b\n+++ b/b\n${hunk}`;
      const { callId } = await harness.call(filePatch, { path: 'p/', unified_diff });
      harness.put('p/a', 'mine\n');
      const failure = await harness.refuse(undo, { call_id: callId });
      assert.deepEqual(
        conflictsOf(failure).map(({ path }) => path),
        ['p/a'],
      );
      assert.equal(harness.text('p/b'), 'y\n');
    });

    it('a call that is not known, changed nothing or kept nothing', async () => {
      harness.put('u', 'old');
      const reading = await harness.call(fileRead, { path: 'u' });
      const blind = await harness.call(fileWrite, { path: 'u', content: 'new', no_undo: true });
      for (const call_id of ['call_none', reading.callId, blind.callId]) {
        assert.equal((await harness.refuse(undo, { call_id })).reason, 'undo.unknown');
      }
    });

    it('what a program or a tool of a pack changed: that is not known', async () => {
      const foreign = defineBuiltin<Record<string, never>, Record<string, never>>({
        id: 'foreign',
        title: 'Foreign',
        description: 'Changes something by itself.',
        tags: [],
        mutates: true,
        input: { type: 'object' },
        output: { type: 'object' },
        examples: [],
        effects: () => [],
        async run(_args, ctx) {
          await ctx.intend();
          return {};
        },
      });
      const { callId } = await harness.call(foreign, {});
      const failure = await harness.refuse(undo, { call_id: callId });
      assert.equal(failure.reason, 'undo.not_known');
      assert.match(failure.message, /what "foreign" changed is not known/);
    });

    it('what policy denies by now', async () => {
      harness.put('denied', 'old');
      const { callId } = await harness.call(fileWrite, { path: 'denied', content: 'new' });
      const denies = (effect: Effect) => 'path' in effect && effect.path === 'denied';
      const failure = await harness.refuse(undo, { call_id: callId }, { denies });
      assert.equal(failure.reason, 'policy.denied');
    });

    for (const args of [{}, { call_id: '' }, { call_id: 7 }, { call_id: 'x', force: true }]) {
      it(`the arguments ${JSON.stringify(args)}`, async () => {
        assert.equal((await harness.refuse(undo, args)).reason, 'input.schema');
      });
    }
  });
});
