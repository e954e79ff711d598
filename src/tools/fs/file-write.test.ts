import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import type { Effect } from '../../contract/effect.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { filePatch } from './file-patch.ts';
import { fileWrite } from './file-write.ts';
import { undo } from './undo.ts';

const harness = await fileHarness();

describe('file_write', () => {
  const mode = (path: string) => (statSync(join(harness.root, path)).mode & 0o7777).toString(8);

  it('creates a file with the folders above it', async () => {
    const { data, effects } = await harness.call(fileWrite, { path: 'a/b/c.txt', content: 'hi\n' });
    assert.deepEqual(data, { written: true, bytes: 3, sha256: sha256Hex('hi\n'), created: true });
    assert.deepEqual(effects, [{ kind: 'fs.write', path: 'a/b/c.txt' }]);
    assert.equal(harness.text('a/b/c.txt'), 'hi\n');
    assert.equal(mode('a/b/c.txt'), '644');
  });

  it('replaces a file, and keeps its permission bits', async () => {
    harness.put('run.sh', 'old', 0o751);
    const { data } = await harness.call(fileWrite, { path: 'run.sh', content: 'new' });
    assert.equal(data.created, false);
    assert.deepEqual([harness.text('run.sh'), mode('run.sh')], ['new', '751']);
  });

  for (const [given, bits] of [
    ['0755', '755'],
    ['600', '600'],
    ['0444', '444'],
  ] as const) {
    it(`sets mode_octal ${given}`, async () => {
      harness.put('mode', 'x', 0o644);
      await harness.call(fileWrite, { path: 'mode', content: 'y', mode_octal: given });
      assert.equal(mode('mode'), bits);
    });
  }

  const CONTENTS: [string, string, 'utf8' | 'base64', Buffer][] = [
    ['nothing', '', 'utf8', Buffer.alloc(0)],
    ['CRLF and a byte order mark', '\uFEFFa\r\n', 'utf8', Buffer.from('\uFEFFa\r\n')],
    ['bytes', '/wAB', 'base64', Buffer.from([255, 0, 1])],
    ['8 MiB', 'x'.repeat(8 * 1024 * 1024), 'utf8', Buffer.alloc(8 * 1024 * 1024, 'x')],
  ];
  for (const [what, content, encoding, bytes] of CONTENTS) {
    it(`writes ${what} exactly`, async () => {
      const { data } = await harness.call(fileWrite, { path: 'exact', content, encoding });
      assert.deepEqual([data.bytes, data.sha256], [bytes.length, sha256Hex(bytes)]);
      assert.equal(harness.tree().exact, `file 644 ${bytes.toString('latin1')}`);
    });
  }

  it('keeps names apart that differ only in their Unicode form', async () => {
    await harness.call(fileWrite, { path: 'u/e\u0301', content: 'nfd' });
    await harness.call(fileWrite, { path: 'u/\u00e9', content: 'nfc' });
    assert.deepEqual([harness.text('u/e\u0301'), harness.text('u/\u00e9')], ['nfd', 'nfc']);
  });

  it('writes through a link to its target in the workspace, which stays a link', async () => {
    harness.put('t/target', 'old', 0o600);
    symlinkSync('t/target', join(harness.root, 'through'));
    const { data } = await harness.call(fileWrite, { path: 'through', content: 'new' });
    assert.equal(data.created, false);
    assert.deepEqual([harness.tree().through, harness.tree()['t/target']], ['link t/target', 'file 600 new']);
  });

  it('writes when the file is still the expected one', async () => {
    harness.put('cas', 'v1');
    const args = { path: 'cas', content: 'v2', expected_sha256: sha256Hex('v1') };
    assert.equal((await harness.call(fileWrite, args)).data.written, true);
    const failure = await harness.refuse(fileWrite, args);
    assert.equal(failure.reason, 'file.conflict');
    assert.equal(failure.details?.actual_sha256, sha256Hex('v2'));
  });

  it('takes an attribution', async () => {
    await harness.call(fileWrite, { path: 'attributed', content: '', attribution: { task_id: 42 } });
  });

  it('takes set-user-id and set-group-id from new content, as file_patch does, and says so', async () => {
    const calls = [
      () => harness.call(fileWrite, { path: 'set-id', content: 'new\n' }),
      () => harness.call(filePatch, { path: 'set-id', unified_diff: '@@\n-old\n+new\n' }),
    ];
    for (const call of calls) {
      harness.put('set-id', 'old\n');
      chmodSync(join(harness.root, 'set-id'), 0o6755);
      const { data, warnings } = await call();
      assert.equal(mode('set-id'), '755');
      assert.deepEqual(
        data.not_kept?.map(({ path, what }) => [path, what]),
        [
          ['set-id', 'set_user_id'],
          ['set-id', 'set_group_id'],
        ],
      );
      assert.deepEqual(
        warnings.map(({ reason }) => reason),
        ['file.not_kept'],
      );
    }
    harness.put('set-id', 'old\n', 0o755);
    assert.equal((await harness.call(fileWrite, { path: 'set-id', content: 'x' })).data.not_kept, undefined);
  });

  it('can be undone, and with no_undo it cannot', async () => {
    harness.put('undoable', 'old', 0o640);
    const before = harness.tree();
    const first = await harness.call(fileWrite, { path: 'undoable', content: 'new', mode_octal: '0600' });
    await harness.call(undo, { call_id: first.callId });
    assert.deepEqual(harness.tree(), before);
    const second = await harness.call(fileWrite, { path: 'undoable', content: 'new', no_undo: true });
    const failure = await harness.refuse(undo, { call_id: second.callId });
    assert.equal(failure.reason, 'undo.unknown');
  });

  describe('dry_run', () => {
    it('answers the diff and changes nothing', async () => {
      harness.put('dry', 'a\nb\nc\n');
      const before = harness.tree();
      const { data, effects, changes } = await harness.call(fileWrite, {
        path: 'dry',
        content: 'a\nB\nc\n',
        dry_run: true,
      });
      assert.deepEqual([data.written, data.dry_run, data.created], [false, true, false]);
      assert.deepEqual(data.changes, [{ path: 'dry', change: 'modify', bytes: 6 }]);
      assert.match(data.diff!, /^--- a\/dry\n\+\+\+ b\/dry\n@@ -1,3 \+1,3 @@\n a\n-b\n\+B\n c\n$/m);
      assert.ok(effects.some((effect) => effect.kind === 'fs.write' && effect.path === 'dry'));
      assert.deepEqual([harness.tree(), changes], [before, []]);
    });

    it('answers a new file as such, without making folders', async () => {
      const before = harness.tree();
      const { data } = await harness.call(fileWrite, { path: 'no/such/file', content: 'x\n', dry_run: true });
      assert.deepEqual([data.created, data.changes?.[0]?.change], [true, 'create']);
      assert.match(data.diff!, /new file mode/);
      assert.deepEqual(harness.tree(), before);
    });

    it('answers binary content without a diff', async () => {
      const args = { path: 'bin', content: 'AAEC', encoding: 'base64', dry_run: true };
      const { data } = await harness.call(fileWrite, args);
      assert.deepEqual([data.diff, data.changes], [undefined, [{ path: 'bin', change: 'create', bytes: 3 }]]);
    });
  });

  describe('refuses', () => {
    before(() => {
      harness.put('r/file', 'content');
      mkdirSync(join(harness.root, 'r/dir'));
      symlinkSync('/tmp/haft-escape', join(harness.root, 'r/out'));
      symlinkSync('..', join(harness.root, 'r/up'));
      symlinkSync('../../..', join(harness.root, 'r/outdir'));
      symlinkSync('dir', join(harness.root, 'r/dirlink'));
      execFileSync('mkfifo', [join(harness.root, 'r/fifo')]);
    });

    const WRONG = sha256Hex('something else');
    const TABLE: [string, Record<string, string | boolean>, string][] = [
      ['a directory', { path: 'r/dir' }, 'path.is_directory'],
      ['the root', { path: '.' }, 'path.is_directory'],
      ['a link to a directory', { path: 'r/dirlink' }, 'path.is_directory'],
      ['a FIFO', { path: 'r/fifo' }, 'path.not_regular'],
      ['a link that leaves', { path: 'r/out' }, 'path.outside_workspace'],
      ['a folder link that leaves', { path: 'r/outdir/x' }, 'path.outside_workspace'],
      ['climbing', { path: '../x' }, 'path.outside_workspace'],
      ['an absolute path elsewhere', { path: '/tmp/haft-escape' }, 'path.outside_workspace'],
      ['a file as a folder', { path: 'r/file/x' }, 'path.not_directory'],
      ['what is there, with must_create', { path: 'r/file', must_create: true }, 'path.exists'],
      ['a missing folder, without create_dirs', { path: 'r/no/x', create_dirs: false }, 'path.not_found'],
      ['another version', { path: 'r/file', expected_sha256: WRONG }, 'file.conflict'],
      ['a version of nothing', { path: 'r/none', expected_sha256: WRONG }, 'file.conflict'],
      ['half of a surrogate pair', { path: 'r/s', content: '\ud800' }, 'input.encoding'],
      ['what is not base64', { path: 'r/s', content: '***', encoding: 'base64' }, 'input.encoding'],
      ['a mode with special bits', { path: 'r/s', mode_octal: '4755' }, 'input.schema'],
      ['a mode that is not octal', { path: 'r/s', mode_octal: '0999' }, 'input.schema'],
      ['a hash that is none', { path: 'r/s', expected_sha256: 'abc' }, 'input.schema'],
      ['an argument that there is not', { path: 'r/s', append: true }, 'input.schema'],
      ['a name too long', { path: 'x'.repeat(256) }, 'path.invalid'],
    ];
    for (const [what, args, reason] of TABLE) {
      for (const dry_run of [false, true]) {
        it(`${what}${dry_run ? ', in a dry run as well' : ''}`, async () => {
          const failure = await harness.refuse(fileWrite, { content: 'new', ...args, dry_run });
          assert.equal(failure.reason, reason, failure.message);
          assert.ok(!failure.message.includes(harness.root), failure.message);
        });
      }
    }

    it('what policy denies where a link leads', async () => {
      symlinkSync('file', join(harness.root, 'r/alias'));
      const denies = (effect: Effect) => 'path' in effect && effect.path === 'r/file';
      const failure = await harness.refuse(fileWrite, { path: 'r/alias', content: 'x' }, { denies });
      assert.equal(failure.reason, 'policy.denied');
    });

    it('more than undo may keep, unless told no_undo', async () => {
      harness.put('large', 'x'.repeat(2000));
      const args = { path: 'large', content: 'y' };
      const failure = await harness.refuse(fileWrite, args, { undoMaxBytes: 1000 });
      assert.equal(failure.reason, 'undo.too_large');
      await harness.call(fileWrite, { ...args, no_undo: true }, { undoMaxBytes: 1000 });
    });
  });
});
