import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyFilePatch } from './apply-patch.ts';
import type { FilePatch } from './file-patch.ts';
import { parsePatch } from './parse-patch.ts';

const one = (patch: string): FilePatch => parsePatch(patch)[0]!;
const apply = (original: string, patch: string) => applyFilePatch(original, one(patch));
const EOF = '\\ No newline at end of file\n';
/** Every line another. */
const counting = (to: number) => Array.from({ length: to }, (_, i) => `line ${i + 1}\n`).join('');

/** `lines` is where each hunk lies, and after a slash by how much it moved. */
const applied: [title: string, original: string, patch: string, text: string, lines: (number | string)[]][] =
  [
    ['a hunk where its header says', 'a\nb\nc\n', '@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n', 'a\nB\nc\n', [1]],
    [
      'a hunk where its header says though others match, above one that did not move',
      'x\nx\nx\na\nb\n',
      '@@ -2,2 +2,2 @@\n-x\n+y\n x\n@@ -4,2 +4,2 @@\n a\n-b\n+B\n',
      'x\ny\nx\na\nB\n',
      [2, 4],
    ],
    [
      'a hunk without context where its header says though others match',
      'x\nx\nx\n',
      '@@ -2 +2 @@\n-x\n+y\n',
      'x\ny\nx\n',
      [2],
    ],
    [
      'a hunk at the only other place',
      'new\nnew\na\nb\n',
      '@@ -1,2 +1,2 @@\n a\n-b\n+B\n',
      'new\nnew\na\nB\n',
      ['3/2'],
    ],
    ['a hunk above the place stated', 'a\nb\n', '@@ -40,2 +40,2 @@\n a\n-b\n+B\n', 'a\nB\n', ['1/-39']],
    ['a hunk without numbers', 'a\nb\nc\n', '@@ @@\n-b\n+B\n', 'a\nB\nc\n', [2]],
    ['dummy numbers of 0', 'a\nb\nc\n', '@@ -0,0 +0,0 @@\n-b\n+B\n', 'a\nB\nc\n', [2]],
    [
      'a hunk that matches twice, between two that moved alike',
      'new\nt\nu\nx\nx\nx\nv\nw\n',
      '@@ -1,2 +1,2 @@\n t\n-u\n+U\n@@ -4,2 +4,2 @@\n x\n-x\n+X\n@@ -6,2 +6,2 @@\n-v\n+V\n w\n',
      'new\nt\nU\nx\nx\nX\nV\nw\n',
      ['2/1', '5/1', '7/1'],
    ],
    [
      'counts that are too small alike, and an unnumbered hunk after it',
      'a\nb\nc\nd\n',
      '@@ -1 +1,0 @@\n a\n-b\n@@\n c\n+C\n',
      'a\nc\nC\nd\n',
      [1, 3],
    ],
    [
      'an unnumbered hunk below the one before it',
      'x\na\nx\nb\n',
      '@@ @@\n-a\n+A\n@@ @@\n-x\n+X\n',
      'x\nA\nX\nb\n',
      [2, 3],
    ],
    [
      'hunks whose context lines overlap',
      'a\nb\nc\nd\ne\n',
      '@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n d\n@@ -3,3 +3,3 @@\n c\n d\n-e\n+E\n',
      'a\nB\nc\nd\nE\n',
      [1, 3],
    ],
    ['added lines alone, at the start', 'a\n', '@@ -0,0 +1 @@\n+n\n', 'n\na\n', [1]],
    ['added lines alone, inside', 'a\nb\n', '@@ -1,0 +2 @@\n+n\n', 'a\nn\nb\n', [2]],
    ['added lines alone, at the end', 'a\n', '@@ -1,0 +2 @@\n+n\n', 'a\nn\n', [2]],
    ['added lines alone, in an empty file', '', '@@\n+n\n', 'n\n', [1]],
    ['a created file', '', '--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n', 'a\nb\n', [1]],
    [
      'a created file without a last newline',
      '',
      `--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n${EOF}`,
      'a',
      [1],
    ],
    ['a deleted file', 'a\nb\n', '--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n', '', [1]],
    ['every line removed', 'a\nb', `@@ -1,2 +0,0 @@\n-a\n-b\n${EOF}`, '', [1]],
    ['a last newline added', 'a\nb', `@@ -1,2 +1,2 @@\n a\n-b\n${EOF}+b\n`, 'a\nb\n', [1]],
    ['a last newline removed', 'a\nb\n', `@@ -1,2 +1,2 @@\n a\n-b\n+b\n${EOF}`, 'a\nb', [1]],
    ['a last line kept without newline', 'a\nb', `@@ -1,2 +1,2 @@\n-a\n+A\n b\n${EOF}`, 'A\nb', [1]],
    ['a line before a last one without newline', 'a\nb', '@@ -1 +1 @@\n-a\n+A\n', 'A\nb', [1]],
    ['lines behind a last one without newline', 'a', `@@ -1 +1,2 @@\n-a\n${EOF}+a\n+b\n${EOF}`, 'a\nb', [1]],
    ['the end, where only it may match', 'a\nb\na', `@@ @@\n-a\n${EOF}+c\n`, 'a\nb\nc\n', [3]],
    [
      'an LF patch to a CRLF file',
      'a\r\nb\r\nc\r\n',
      '@@ -1,3 +1,4 @@\n a\n-b\n+B\n+BB\n c\n',
      'a\r\nB\r\nBB\r\nc\r\n',
      [1],
    ],
    [
      'an LF patch to a CRLF file without a last newline',
      'a\r\nb',
      `@@ -1,2 +1,3 @@\n a\n-b\n${EOF}+b\n+c\n${EOF}`,
      'a\r\nb\r\nc',
      [1],
    ],
    ['CRLF lines alone to an LF file', 'a\n', '@@ -0,0 +1 @@\n+n\r\n', 'n\r\na\n', [1]],
    ['added lines alone to a CRLF file', 'a\r\n', '@@ -0,0 +1 @@\n+n\n', 'n\r\na\r\n', [1]],
    ['a CRLF patch text to an LF file', 'a\nb\n', '@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+B\r\n', 'a\nB\n', [1]],
    [
      'a git diff of a CRLF file to it',
      'a\r\nb\r\n',
      '@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n',
      'a\r\nB\r\n',
      [1],
    ],
    [
      'a git diff of a CRLF file to its LF twin',
      'a\nb\n',
      '@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n',
      'a\nB\n',
      [1],
    ],
    ['a change from CRLF to LF', 'a\r\nb\r\n', '@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n', 'a\nb\r\n', [1]],
    ['a change from LF to CRLF', 'a\nb\n', '@@ -1,2 +1,2 @@\n-a\n+a\r\n b\n', 'a\r\nb\n', [1]],
    [
      'an LF patch to a mixed file, terminators of the neighbours',
      'a\r\nb\r\nc\nd\ne\n',
      '@@ -1,5 +1,7 @@\n a\n-b\n-c\n+B\n+C\n+D\n d\n+E\n e\n',
      'a\r\nB\r\nC\nD\nd\nE\ne\n',
      [1],
    ],
    [
      'a stripped empty line of a CRLF file',
      'a\r\n\r\nb\r\n',
      '@@ -1,3 +1,3 @@\n a\r\n\r\n-b\r\n+B\r\n',
      'a\r\n\r\nB\r\n',
      [1],
    ],
    ['a lone CR as a character', 'a\rb\nc\n', '@@ -1,2 +1,2 @@\n a\rb\n-c\n+d\n', 'a\rb\nd\n', [1]],
    [
      'a byte order mark that the patch does not show',
      '\uFEFFa\nb\n',
      '@@ -1,2 +1,2 @@\n-a\n+A\n b\n',
      '\uFEFFA\nb\n',
      [1],
    ],
    [
      'a byte order mark that the patch shows',
      '\uFEFFa\nb\n',
      '@@ -1,2 +1,2 @@\n-\uFEFFa\n+\uFEFFA\n b\n',
      '\uFEFFA\nb\n',
      [1],
    ],
    ['a byte order mark removed', '\uFEFFa\n', '@@ -1 +1 @@\n-\uFEFFa\n+a\n', 'a\n', [1]],
    ['a byte order mark added', 'a\n', '@@ -1 +1 @@\n-a\n+\uFEFFa\n', '\uFEFFa\n', [1]],
    [
      'a byte order mark that only the added line shows',
      '\uFEFFa\n',
      '@@ -1 +1 @@\n-a\n+\uFEFFA\n',
      '\uFEFFA\n',
      [1],
    ],
    ['a line above a byte order mark', '\uFEFFa\n', '@@ -1 +1,2 @@\n+n\n a\n', '\uFEFFn\na\n', [1]],
    [
      'latin1 text with a byte order mark',
      '\u00EF\u00BB\u00BFa\u00ff\n',
      '@@ -1 +1 @@\n-a\u00ff\n+b\u00fe\n',
      '\u00EF\u00BB\u00BFb\u00fe\n',
      [1],
    ],
    ['a change of mode alone', 'a\n', 'diff --git a/x b/x\nold mode 100644\nnew mode 100755\n', 'a\n', []],
  ];

describe('applyFilePatch applies', () => {
  for (const [title, original, patch, text, lines] of applied) {
    it(title, () => {
      const placed = lines.map((at, i) => {
        const [line, offset = 0] = `${at}`.split('/').map(Number) as [number, number?];
        return { hunk: i + 1, line, offset };
      });
      assert.deepEqual(apply(original, patch), { ok: true, text, hunksApplied: lines.length, placed });
    });
  }
});

describe('applyFilePatch stays linear', () => {
  it('with 1,000 hunks on 100,000 lines, each stated at a wrong place', () => {
    const hunks = Array.from(
      { length: 1000 },
      (_, i) => `@@ -${99_000 - i},2 +1,2 @@\n line ${i * 100 + 1}\n-line ${i * 100 + 2}\n+new ${i}\n`,
    );
    const result = apply(counting(100_000), hunks.join(''));
    assert.ok(result.ok);
    assert.equal(result.hunksApplied, 1000);
    assert.equal(result.placed[999]?.line, 99_901);
  });

  it('with repeated lines and a long hunk that almost matches everywhere', () => {
    const same = 'x\n'.repeat(100_000);
    const hunk = `@@ -1,50001 +1,50001 @@\n${' x\n'.repeat(50_000)}-y\n+z\n`;
    const result = apply(same, hunk);
    assert.ok(!result.ok);
    assert.equal(result.reason, 'patch.stale');
    const fits = apply(`${same}y\n`, hunk);
    assert.ok(fits.ok);
    assert.equal(fits.placed[0]?.line, 50_001);
  });
});
