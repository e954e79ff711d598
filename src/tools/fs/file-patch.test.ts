import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import type { Effect } from '../../contract/effect.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { filePatch } from './file-patch.ts';
import { undo } from './undo.ts';

const harness = await fileHarness();

describe('file_patch', () => {
  const HUNK = '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n';
  const plain = (name: string, hunk = HUNK) => `--- a/${name}\n+++ b/${name}\n${hunk}`;
  const TEXT = 'one\ntwo\nthree\n';

  it('changes a part of a file, and answers the new hash', async () => {
    harness.put('src/x', TEXT, 0o755);
    const { data, effects } = await harness.call(filePatch, { path: 'src/x', unified_diff: plain('src/x') });
    const sha256 = sha256Hex('one\nTWO\nthree\n');
    const file = { path: 'src/x', change: 'modify', hunks_applied: 1, sha256 };
    assert.deepEqual(data, { patched: true, hunks_applied: 1, files: [file], sha256 });
    assert.equal(harness.tree()['src/x'], 'file 755 one\nTWO\nthree\n');
    assert.deepEqual(effects, [
      { kind: 'fs.read', path: 'src/x' },
      { kind: 'fs.write', path: 'src/x' },
    ]);
  });

  const CONTENTS: [string, string | Buffer, string, string | Buffer][] = [
    ['CRLF', 'one\r\ntwo\r\nthree\r\n', HUNK, 'one\r\nTWO\r\nthree\r\n'],
    ['a byte order mark', `\uFEFF${TEXT}`, HUNK, '\uFEFFone\nTWO\nthree\n'],
    [
      'no newline at the end',
      'one\ntwo',
      '@@\n one\n-two\n\\ No newline at end of file\n+TWO\n',
      'one\nTWO\n',
    ],
    [
      'Latin-1 bytes',
      Buffer.from('\xe9\ntwo\n', 'latin1'),
      '@@\n \xe9\n-two\n+TWO\n',
      Buffer.from('\xe9\nTWO\n', 'latin1'),
    ],
    [
      'a place far from the stated one',
      `${'x\n'.repeat(500)}${TEXT}`,
      HUNK,
      `${'x\n'.repeat(500)}one\nTWO\nthree\n`,
    ],
    ['an empty file', '', '@@ -0,0 +1 @@\n+first\n', 'first\n'],
    ['a line of 1 MiB', `${'y'.repeat(1 << 20)}\ntwo\n`, '@@\n-two\n+TWO\n', `${'y'.repeat(1 << 20)}\nTWO\n`],
  ];
  for (const [what, before, diff, after] of CONTENTS) {
    it(`keeps every other byte: ${what}`, async () => {
      harness.put('bytes', before);
      await harness.call(filePatch, { path: 'bytes', unified_diff: diff });
      assert.equal(harness.tree().bytes, `file 644 ${Buffer.from(after).toString('latin1')}`);
    });
  }

  it('says by how many lines a hunk moved, and nothing where none did', async () => {
    harness.put('moved', `x\ny\n${TEXT}z\n${TEXT.toUpperCase()}`);
    const second = '@@ -5,3 +5,3 @@\n ONE\n-TWO\n+two\n THREE\n';
    const { data } = await harness.call(filePatch, { path: 'moved', unified_diff: HUNK + second });
    assert.deepEqual(data.files[0]!.moved, [
      { hunk: 1, line: 3, offset: 2 },
      { hunk: 2, line: 7, offset: 2 },
    ]);
  });

  it('writes through a link inside of the workspace', async () => {
    harness.put('t/target', TEXT);
    symlinkSync('t/target', join(harness.root, 'through'));
    await harness.call(filePatch, { path: 'through', unified_diff: HUNK });
    assert.deepEqual(
      [harness.tree().through, harness.text('t/target')],
      ['link t/target', 'one\nTWO\nthree\n'],
    );
  });

  it('changes several files at once, and undo takes them all back', async () => {
    harness.put('m/a', TEXT, 0o700);
    harness.put('m/gone', 'x\n');
    harness.put('m/old', TEXT, 0o755);
    harness.put('m/tool', 'x\n');
    const before = harness.tree();
    const diff = [
      plain('a'),
      '--- /dev/null\n+++ b/deep/new\n@@ -0,0 +1 @@\n+fresh\n',
      '--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n',
      `diff --git a/old b/lib/moved\nsimilarity index 80%\nrename from old\nrename to lib/moved\n${plain('old').replace('b/old', 'b/lib/moved')}`,
      'diff --git a/a b/copy\nsimilarity index 100%\ncopy from a\ncopy to copy\n',
      'diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n',
    ].join('');
    const { data, callId } = await harness.call(filePatch, { path: 'm/', unified_diff: diff });
    assert.deepEqual(
      data.files.map(({ path, change, from }) => [path, change, from]),
      [
        ['m/a', 'modify', undefined],
        ['m/deep/new', 'create', undefined],
        ['m/gone', 'delete', undefined],
        ['m/lib/moved', 'rename', 'm/old'],
        ['m/copy', 'copy', 'm/a'],
        ['m/tool', 'modify', undefined],
      ],
    );
    assert.equal(data.hunks_applied, 4);
    const now = harness.tree();
    assert.deepEqual([now['m/gone'], now['m/old']], [undefined, undefined]);
    assert.equal(now['m/a'], 'file 700 one\nTWO\nthree\n');
    assert.equal(now['m/deep/new'], 'file 644 fresh\n');
    assert.equal(now['m/lib/moved'], 'file 755 one\nTWO\nthree\n');
    assert.equal(now['m/copy'], `file 700 ${TEXT}`);
    assert.equal(now['m/tool'], 'file 755 x\n');
    await harness.call(undo, { call_id: callId });
    assert.deepEqual(harness.tree(), before);
  });

  it('lets two files trade names', async () => {
    harness.put('swap/a', 'A\n', 0o600);
    harness.put('swap/b', 'B\n');
    const rename = (from: string, to: string) =>
      `diff --git a/${from} b/${to}\nsimilarity index 100%\nrename from ${from}\nrename to ${to}\n`;
    await harness.call(filePatch, { path: 'swap/', unified_diff: rename('a', 'b') + rename('b', 'a') });
    assert.deepEqual([harness.tree()['swap/a'], harness.tree()['swap/b']], ['file 644 B\n', 'file 600 A\n']);
  });

  it('applies all files or none', async () => {
    harness.put('n/a', TEXT);
    harness.put('n/b', 'other\n');
    const failure = await harness.refuse(filePatch, { path: 'n/', unified_diff: plain('a') + plain('b') });
    assert.deepEqual([failure.reason, failure.details?.path], ['patch.stale', 'n/b']);
  });

  it('patches the version that is expected', async () => {
    harness.put('cas', TEXT);
    const args = { path: 'cas', unified_diff: HUNK };
    const failure = await harness.refuse(filePatch, { ...args, expected_sha256: sha256Hex('other') });
    assert.deepEqual([failure.reason, failure.details?.actual_sha256], ['file.conflict', sha256Hex(TEXT)]);
    await harness.call(filePatch, { ...args, expected_sha256: sha256Hex(TEXT) });
  });

  it('dry_run answers the diff and changes nothing', async () => {
    harness.put('dry', `${'x\n'.repeat(9)}${TEXT}`);
    const before = harness.tree();
    const { data, changes } = await harness.call(filePatch, {
      path: 'dry',
      unified_diff: HUNK,
      dry_run: true,
    });
    assert.deepEqual([data.patched, data.hunks_applied, data.dry_run], [false, 1, true]);
    assert.match(data.diff!, /@@ -8,5 \+8,5 @@/);
    assert.deepEqual([harness.tree(), changes], [before, []]);
  });

  describe('refuses', () => {
    before(() => {
      harness.put('r/file', TEXT);
      harness.put('r/twice', 'a\nb\na\nb\n');
      mkdirSync(join(harness.root, 'r/dir'));
      symlinkSync('/etc/passwd', join(harness.root, 'r/out'));
    });

    const NEW = '--- /dev/null\n+++ b/file\n@@ -0,0 +1 @@\n+x\n';
    const LINK = 'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n';
    const TABLE: [string, string, string, string][] = [
      ['text that is no diff', 'r/file', 'change two to TWO please', 'patch.malformed'],
      ['a hunk that changes nothing', 'r/file', '@@\n one\n', 'patch.malformed'],
      ['a hunk that does not fit', 'r/file', '@@\n one\n-zwei\n+TWO\n', 'patch.stale'],
      ['a hunk that fits twice', 'r/twice', '@@\n-a\n+A\n b\n', 'patch.ambiguous'],
      ['a hunk that is cut off', 'r/file', HUNK.replace(' three\n', ''), 'patch.malformed'],
      ['overlapping hunks', 'r/file', `${HUNK}${HUNK.replace('TWO', 'ZWEI')}`, 'patch.overlap'],
      ['a file that is missing', 'r/none', HUNK, 'path.not_found'],
      ['a directory', 'r/dir', HUNK, 'path.is_directory'],
      ['a file that another name is given for', 'r/file', plain('r/other'), 'patch.wrong_file'],
      ['a creation of what is there', 'r/file', NEW, 'path.exists'],
      [
        'a deletion that leaves lines',
        'r/file',
        '--- a/r/file\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n',
        'patch.stale',
      ],
      ['a symbolic link', 'r/', LINK, 'patch.malformed'],
      ['climbing headers', 'r/', plain('../../etc/passwd'), 'patch.wrong_file'],
      ['a climbing path', '../x', HUNK, 'path.outside_workspace'],
      ['a link that leaves', 'r/out', HUNK, 'path.outside_workspace'],
      [
        'a rename onto what is there',
        'r/',
        'diff --git a/file b/twice\nrename from file\nrename to twice\n',
        'path.exists',
      ],
    ];
    for (const [what, path, unified_diff, reason] of TABLE) {
      for (const dry_run of [false, true]) {
        it(`${what}${dry_run ? ', in a dry run as well' : ''}`, async () => {
          const failure = await harness.refuse(filePatch, { path, unified_diff, dry_run });
          assert.equal(failure.reason, reason, failure.message);
          assert.ok(!failure.message.includes(harness.root), failure.message);
        });
      }
    }

    it('one expected hash for several files', async () => {
      const args = { path: 'r/', unified_diff: plain('file') + plain('x'), expected_sha256: sha256Hex('') };
      assert.equal((await harness.refuse(filePatch, args)).reason, 'input.schema');
    });

    it('what stands there instead, and where', async () => {
      const failure = await harness.refuse(filePatch, {
        path: 'r/file',
        unified_diff: '@@\n one\n-zwei\n+x\n',
      });
      const { hunk, line, expected, found } = failure.details ?? {};
      assert.deepEqual([hunk, line, expected, found], [1, 2, 'zwei', 'two']);
    });

    it('an effect that policy denies, before anything is read', async () => {
      const denies = (effect: Effect) => 'path' in effect && effect.path === 'r/secret';
      const args = { path: 'r/', unified_diff: plain('file') + plain('secret') };
      assert.equal((await harness.refuse(filePatch, args, { denies })).reason, 'policy.denied');
    });
  });
});
