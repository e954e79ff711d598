import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { type FilePatch, isPatchSyntaxError, type PatchSyntaxReason } from './file-patch.ts';
import { parsePatch } from './parse-patch.ts';

/** A file in one line: change, paths, then each hunk's start and its lines ("$" marks no newline). */
function brief(files: readonly FilePatch[]): string[] {
  return files.map(({ change, pathBefore, pathAfter, hunks }) => {
    const bodies = hunks.map(
      ({ oldStart, lines }) =>
        `@${oldStart ?? '?'} ${lines.map(({ op, text, terminated }) => op + text + (terminated ? '' : '$')).join('|')}`,
    );
    return [change, pathBefore, pathAfter, ...bodies].join(' ; ');
  });
}

const BODY = '@@ -1,2 +1,2 @@\n a\n-b\n+c\n';
const READ = '@1  a|-b|+c';

const accepted: [title: string, patch: string, files: string[]][] = [
  [
    'a git diff',
    `diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n${BODY}`,
    [`modify ; x ; x ; ${READ}`],
  ],
  ['plain paths without prefixes', `--- x\n+++ x\n${BODY}`, [`modify ; x ; x ; ${READ}`]],
  ['a/ and b/ without a git line', `--- a/d/x\n+++ b/d/x\n${BODY}`, [`modify ; d/x ; d/x ; ${READ}`]],
  ['a folder named a on both sides', `--- a/x\n+++ a/x\n${BODY}`, [`modify ; a/x ; a/x ; ${READ}`]],
  [
    'no prefixes behind a git line',
    `diff --git a/x a/x\n--- a/x\n+++ a/x\n${BODY}`,
    [`modify ; a/x ; a/x ; ${READ}`],
  ],
  ['mnemonic prefixes', `diff --git i/x w/x\n--- i/x\n+++ w/x\n${BODY}`, [`modify ; x ; x ; ${READ}`]],
  [
    'time stamps behind a tab',
    `--- x\t2024-01-02 03:04:05.6 +0100\n+++ x\t2024-01-02 03:04:06.7 +0100\n${BODY}`,
    [`modify ; x ; x ; ${READ}`],
  ],
  [
    'time stamps behind spaces',
    `--- x y 2024-01-02 03:04:05\n+++ x y 2024-01-02 03:04:06\n${BODY}`,
    [`modify ; x y ; x y ; ${READ}`],
  ],
  [
    'names with spaces and the tab of git',
    `diff --git a/x y b/x y\n--- a/x y\t\n+++ b/x y\t\n${BODY}`,
    [`modify ; x y ; x y ; ${READ}`],
  ],
  [
    'quoted names with octal escapes',
    `diff --git "a/\\303\\266" "b/\\303\\266"\n--- "a/\\303\\266"\n+++ "b/\\303\\266"\n${BODY}`,
    [`modify ; ö ; ö ; ${READ}`],
  ],
  [
    'svn headings',
    `Index: x\n===\n--- x\t(revision 1)\n+++ x\t(working copy)\n${BODY}`,
    [`modify ; x ; x ; ${READ}`],
  ],
  [
    'a created file',
    'diff --git a/x b/x\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n',
    ['create ;  ; x ; @0 +a'],
  ],
  [
    'a deleted file',
    'diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n',
    ['delete ; x ;  ; @1 -a'],
  ],
  ['a created file without git', '--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n', ['create ;  ; x ; @0 +a']],
  [
    'a file created by diff -N',
    '--- o/x\t1970-01-01 00:00:00.000000000 +0000\n+++ n/x\t2024-01-02 03:04:05 +0000\n@@ -0,0 +1 @@\n+a\n',
    ['create ;  ; n/x ; @0 +a'],
  ],
  [
    'an empty file created',
    'diff --git a/x y b/x y\nnew file mode 100644\nindex 0000000..e69de29\n',
    ['create ;  ; x y'],
  ],
  [
    'an empty file deleted',
    'diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n',
    ['delete ; x ; '],
  ],
  ['a change of mode alone', 'diff --git a/x b/x\nold mode 100644\nnew mode 100755\n', ['modify ; x ; x']],
  [
    'a rename alone',
    'diff --git a/x b/d/y\nsimilarity index 100%\nrename from x\nrename to d/y\n',
    ['rename ; x ; d/y'],
  ],
  [
    'a rename with changes and odd names',
    `diff --git "a/\\303\\266" b/y z\nsimilarity index 90%\nrename from "\\303\\266"\nrename to y z\nindex 1..2\n--- "a/\\303\\266"\n+++ b/y z\t\n${BODY}`,
    [`rename ; ö ; y z ; ${READ}`],
  ],
  [
    'a copy',
    `diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\n--- a/x\n+++ b/y\n${BODY}`,
    [`copy ; x ; y ; ${READ}`],
  ],
  ['a reversed git diff', `diff --git b/x a/x\n--- b/x\n+++ a/x\n${BODY}`, [`modify ; x ; x ; ${READ}`]],
  [
    'several files',
    `--- a/x\n+++ b/x\n${BODY}--- a/y\n+++ b/y\n${BODY}diff --git a/z b/z\n--- a/z\n+++ b/z\n${BODY}`,
    ['x', 'y', 'z'].map((name) => `modify ; ${name} ; ${name} ; ${READ}`),
  ],
  [
    'missing newlines on both sides',
    '--- x\n+++ x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n',
    ['modify ; x ; x ; @1 -a$|+b$'],
  ],
  [
    'a missing newline on a kept line',
    '--- x\n+++ x\n@@ -1,2 +1 @@\n-a\n b\n\\ Kein Zeilenumbruch am Dateiende.\n',
    ['modify ; x ; x ; @1 -a| b$'],
  ],
  [
    'a mail',
    `From 1 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n- a list\n+ of things\n---\n x | 2 +-\n 1 file changed\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n${BODY}-- \n2.39.5\n\nFrom 2\n- more\n`,
    [`modify ; x ; x ; ${READ}`],
  ],
  [
    'prose and a fence',
    `Here is the fix:\n\n\`\`\`diff\n--- a/x\n+++ b/x\n${BODY}\`\`\`\n\nIt does:\n- one thing\n+ another\n`,
    [`modify ; x ; x ; ${READ}`],
  ],
  [
    'a fence around a hunk without counts',
    '```diff\n@@ @@\n a\n-b\n+c\n```\n\n- a list\n',
    ['modify ;  ;  ; @?  a|-b|+c'],
  ],
  ['a signature of words', `--- x\n+++ x\n${BODY}-- \nA. Author\n`, [`modify ; x ; x ; ${READ}`]],
  ['hunks without a file', `${BODY}@@ -9 +9 @@\n-y\n+z\n`, [`modify ;  ;  ; ${READ} ; @9 -y|+z`]],
  [
    'bare "@@ @@"',
    '--- x\n+++ x\n@@ @@\n a\n-b\n@@ ... @@\n+c\n d\n',
    ['modify ; x ; x ; @?  a|-b ; @? +c| d'],
  ],
  ['bare "@@"', '@@\n-b\n+c\n@@\n-d\n', ['modify ;  ;  ; @? -b|+c ; @? -d']],
  ['"@@ heading"', '@@ def f(x):\n-b\n', ['modify ;  ;  ; @? -b']],
  ['old numbers only', '@@ -7,2 @@\n a\n-b\n', ['modify ;  ;  ; @7  a|-b']],
  ['counts too small', '--- x\n+++ x\n@@ -1,1 +1,1 @@\n a\n-b\n+c\n', [`modify ; x ; x ; ${READ}`]],
  [
    'counts too small before an empty line',
    '--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\n-d\n+e\n',
    ['modify ; x ; x ; @1  a|-b|+c| |-d|+e'],
  ],
  ['zeros for numbers', '@@ -0,0 +0,0 @@\n a\n+b\n', ['modify ;  ;  ; @?  a|+b']],
  [
    'lines that look like headers inside counts',
    '--- x\n+++ x\n@@ -1,2 +1,2 @@\n--- a\n+++ b\n c\n',
    ['modify ; x ; x ; @1 --- a|+++ b| c'],
  ],
  [
    'empty context lines without their space',
    '--- x\n+++ x\n@@ -1,4 +1,3 @@\n a\n\n-b\n\n',
    ['modify ; x ; x ; @1  a| |-b| '],
  ],
  ['no newline at its end', '--- x\n+++ x\n@@ -1,2 +1,2 @@\n-a\n+c\n b', ['modify ; x ; x ; @1 -a|+c| b']],
  [
    'no newline at its end, without numbers',
    '--- x\n+++ x\n@@\n-a\n+c\n b',
    ['modify ; x ; x ; @? -a|+c| b'],
  ],
  [
    'no newline at its end, behind the mark of a last line without one',
    '--- x\n+++ x\n@@\n a\n-b\n+c\n\\ No newline at end of file',
    ['modify ; x ; x ; @?  a|-b|+c$'],
  ],
  ['CRLF throughout', `--- x\n+++ x\n${BODY}`.replaceAll('\n', '\r\n'), [`modify ; x ; x ; ${READ}`]],
  ['CRLF hunks only, last line unended', '@@ -1,2 +1 @@\r\n-a\r\n b', ['modify ;  ;  ; @1 -a| b']],
  [
    'a git diff of a CRLF file',
    '--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n',
    ['modify ; x ; x ; @1  a\r|-b\r|+c\r'],
  ],
  ['a byte order mark before it', `\uFEFF--- x\n+++ x\n${BODY}`, [`modify ; x ; x ; ${READ}`]],
  [
    'characters that other readers take for line ends',
    '@@ -1 +1 @@\n-a\u2028\u0085\f\vb\rc\n+d\n',
    ['modify ;  ;  ; @1 -a\u2028\u0085\f\vb\rc|+d'],
  ],
];

describe('parsePatch reads', () => {
  for (const [title, patch, files] of accepted) {
    it(title, () => assert.deepEqual(brief(parsePatch(patch)), files));
  }

  it('headings and modes', () => {
    const [file] = parsePatch(
      'diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n@@ -3 +5 @@ class A @@ b\n-a\n+b\n',
    );
    assert.equal(file?.modeBefore, '100644');
    assert.equal(file?.modeAfter, '100755');
    const { heading, newStart, patchLine } = file!.hunks[0]!;
    assert.deepEqual([heading, newStart, patchLine], ['class A @@ b', 5, 6]);
  });
});

const refused: [title: string, patch: string, reason: PatchSyntaxReason, line: number][] = [
  ['an empty text', '', 'patch.empty', 1],
  ['white space', ' \n\n', 'patch.empty', 1],
  ['prose alone', 'Nothing to see.\n- really\n', 'patch.malformed', 1],
  ['a file header without hunks', '--- a/x\n+++ b/x\n', 'patch.malformed', 1],
  ['a git header that says nothing', 'diff --git a/x b/x\nindex 1..2 100644\n', 'patch.malformed', 1],
  ['changes without a hunk header', '--- a/x\n+++ b/x\n a\n-b\n+c\n', 'patch.malformed', 4],
  ['a hunk that changes nothing', '--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n b\n', 'patch.malformed', 3],
  ['a hunk without lines', '@@ -1 +1 @@\n', 'patch.malformed', 1],
  ['a hunk cut by a line that lost its space', '@@ @@\n a\n-b\nlost\n-d\n', 'patch.malformed', 5],
  ['a hunk cut off', '--- x\n+++ x\n@@ -1,9 +1,9 @@\n a\n-b\n+c\n', 'patch.malformed', 3],
  ['a hunk cut off by one kept line', '@@ -1,3 +1,3 @@\n a\n-b\n+c\n', 'patch.malformed', 1],
  ['a hunk cut off, old numbers only', '@@ -1,3 @@\n a\n-b\n', 'patch.malformed', 1],
  [
    'a hunk with a line lost, before another file',
    `--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n--- a/y\n+++ b/y\n${BODY}`,
    'patch.malformed',
    3,
  ],
  [
    'a hunk with a line lost, before an empty line and another file',
    `--- x\n+++ x\n@@ -1,7 +1,7 @@\n a\n-b\n+c\n\n--- y\n+++ y\n${BODY}`,
    'patch.malformed',
    3,
  ],
  ['a hunk with a line lost, before another', `@@ -1,2 +1,3 @@\n a\n-b\n+c\n${BODY}`, 'patch.malformed', 1],
  ['a hunk that adds more than its header says', '@@ -1,2 +1,2 @@\n a\n-b\n+c\n+d\n', 'patch.malformed', 1],
  [
    'a hunk that removes more than its header says',
    '@@ -1,2 +1,2 @@\n a\n-b\n+c\n\n-d\n',
    'patch.malformed',
    1,
  ],
  ['an added line that may be cut', '--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\n-b\n+c', 'patch.malformed', 6],
  ['an added line that may be cut, without numbers', '@@\n a\n-b\n+os.remove("/tmp/ca', 'patch.malformed', 4],
  ['an added line that may be cut, of CRLF', '@@\r\n a\r\n-b\r\n+c\r', 'patch.malformed', 4],
  ['an added line that may be cut, numbers of no hunk', '@@ -0,0 +0,0 @@\n a\n+c', 'patch.malformed', 3],
  [
    'an added line that may be cut, of a new file without numbers',
    '--- /dev/null\n+++ b/n1\n@@\n+import os\n+os.remove("/tmp/ca',
    'patch.malformed',
    5,
  ],
  [
    'an added line that may be cut, in the last of two files',
    `--- x\n+++ x\n${BODY}--- y\n+++ y\n@@\n-a\n+`,
    'patch.malformed',
    11,
  ],
  ['a removed line that may be cut, without numbers', '@@\n a\n-b', 'patch.malformed', 3],
  ['a hunk header cut off', `--- x\n+++ x\n${BODY}@@ -9,3 +`, 'patch.malformed', 7],
  ...['d', 'diff --git', 'diff --git a/y b/', '@', 'Ind'].map(
    (cut): [string, string, PatchSyntaxReason, number] => [
      `a file header cut off: "${cut}"`,
      `--- x\n+++ x\n${BODY}${cut}`,
      'patch.malformed',
      7,
    ],
  ),
  ...[
    'similarity index 80%\nrename from x\nrename to y\n',
    'similarity index 100%\nrename from x\n',
    'similarity index 100%\nrename from x\nrename to dir',
    'copy from x\n',
    'old mode 100644\n',
    'old mode 100644\nnew mode 100755\nindex 1234567..89abcde\n',
    'old mode 100644\nnew mode 100755\nindex 1234567',
    'new file mode 100644\n',
    'new file mode 100644\nindex 0000000..89abcde\n',
    'new file mode 100644\nindex 0000000..89abcde\n--- /dev/null\n',
  ].map((cut): [string, string, PatchSyntaxReason, number] => [
    `a git header cut off: ${JSON.stringify(cut)}`,
    `diff --git a/x b/y\n${cut}`,
    'patch.malformed',
    1,
  ]),
  [
    'a git header cut off in a line',
    'diff --git a/x b/x\nold mode 100644\nnew mode 100755\nind',
    'patch.malformed',
    4,
  ],
  [
    'a combined diff by its header',
    'diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n--a\n',
    'patch.combined',
    1,
  ],
  ['a combined diff by its hunk', '--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n--a\n', 'patch.combined', 3],
  [
    'a binary patch',
    'diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\n',
    'patch.binary',
    3,
  ],
  ['a context diff', '*** a/x\n--- b/x\n***************\n*** 1 ****\n! a\n', 'patch.malformed', 3],
  ['another patch format', '*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n', 'patch.malformed', 1],
  [
    'binary files',
    'diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n',
    'patch.binary',
    3,
  ],
];

describe('parsePatch refuses', () => {
  for (const [title, patch, reason, line] of refused) {
    it(title, () => {
      assert.throws(
        () => parsePatch(patch),
        (error: unknown) => {
          assert.ok(isPatchSyntaxError(error));
          assert.deepEqual([error.reason, error.line], [reason, line]);
          return /^Cannot read the patch: /.test(error.message);
        },
      );
    });
  }

  it('nothing with another error, whatever the text', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '@@ -1,2 +1,3 @@',
        '@@',
        '--- a/x',
        '+++ b/x',
        'diff --git a/x b/x',
        '\\ No newline',
        '',
      ),
      fc.constantFrom(
        'rename from "',
        'diff --git ',
        '--- ',
        '+++ ',
        '-- ',
        '```',
        ' ',
        '-',
        '+',
        '\r',
        'new file mode 1',
      ),
      fc.string({ unit: 'binary', maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        try {
          parsePatch(pieces.join('\n'));
        } catch (error) {
          assert.ok(isPatchSyntaxError(error), String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('parsePatch, with very many files', () => {
  const files = (count: number) =>
    Array.from({ length: count }, (_, i) => `--- /dev/null\n+++ b/f${i}\n@@ -0,0 +1 @@\n+x\n`).join('');

  it('takes ten thousand, and refuses more before any of them is looked at', () => {
    assert.equal(parsePatch(files(10_000)).length, 10_000);
    assert.throws(() => parsePatch(files(10_001)), /more than 10000 files; split it/);
  });
});
