import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyFilePatch } from './apply-patch.ts';
import type { FilePatch, PatchRefusal } from './file-patch.ts';
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

type Known = Omit<PatchRefusal, 'ok' | 'message'>;
type Facts = { readonly [K in keyof Known]?: Known[K] | undefined } & { message?: RegExp };

type Refused = [title: string, original: string, patch: string, facts: Facts];
const refused: Refused[] = [
  [
    'a stale hunk, naming the first line that differs',
    'x\na\nb\nc\n',
    '@@ -1,3 +1,3 @@\n a\n-B\n+C\n c\n',
    { reason: 'patch.stale', hunk: 1, line: 3, expected: 'B', found: 'b' },
  ],
  [
    'a stale second hunk and applies nothing',
    'a\nb\nc\n',
    '@@ -1 +1 @@\n-a\n+A\n@@ -3 +3 @@\n-d\n+D\n',
    { reason: 'patch.stale', hunk: 2, line: 3, expected: 'd', found: 'c' },
  ],
  [
    'white space that differs',
    '\ta\nb\n',
    '@@ -1,2 +1,2 @@\n-    a\n+    c\n b\n',
    { reason: 'patch.stale', line: 1, expected: '    a', found: '\ta', message: /only white space differs/ },
  ],
  [
    'a hunk past the end',
    'a\nb\n',
    '@@ -1,3 +1,3 @@\n a\n b\n-c\n+C\n',
    { reason: 'patch.stale', line: 3, expected: 'c', found: undefined, message: /the file ends at line 2/ },
  ],
  ['a hunk on an empty file', '', '@@ -1 +1 @@\n-a\n+b\n', { reason: 'patch.stale', line: 1, expected: 'a' }],
  [
    'an unnumbered hunk of unknown lines',
    'a\n',
    '@@\n-x\n+y\n',
    { reason: 'patch.stale', expected: 'x', line: undefined },
  ],
  [
    'a hunk already applied',
    'a\nB\nc\n',
    '@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n',
    { reason: 'patch.stale', line: 1, alreadyApplied: true },
  ],
  [
    'a hunk already applied elsewhere',
    'n\na\nB\nc\n',
    '@@ @@\n a\n-b\n+B\n c\n',
    { reason: 'patch.stale', line: 2, alreadyApplied: true },
  ],
  ...[
    ['a\nb\nnew()\nc\n', '@@\n-old()\n+new()\n', 3],
    ['a\nnew()\nc\n', '@@\n a\n-old()\n+new()\n', 1],
  ].map(
    ([original, patch, line]): Refused => [
      `a short hunk without numbers that is applied already: ${JSON.stringify(patch)}`,
      original as string,
      patch as string,
      {
        reason: 'patch.stale',
        line: line as number,
        alreadyApplied: true,
        message: /in the file already, at line/,
      },
    ],
  ),
  ...[
    ['new()\nb\nnew()\n', '@@\n-old()\n+new()\n'],
    ['a\n}\nc\n', '@@\n-old()\n+}\n'],
    ['new()\nold()\n', '@@\n x\n-old()\n+new()\n'],
  ].map(
    ([original, patch]): Refused => [
      `no more than "stale" where the new line says little: ${JSON.stringify([original, patch])}`,
      original!,
      patch!,
      { reason: 'patch.stale', alreadyApplied: undefined },
    ],
  ),
  [
    'several places without a number',
    'x\na\nx\nx\n',
    '@@ @@\n-x\n+y\n',
    { reason: 'patch.ambiguous', hunk: 1, candidates: [1, 3, 4] },
  ],
  [
    'several places when the number is wrong',
    'x\na\nx\n',
    '@@ -2 +2 @@\n-x\n+y\n',
    { reason: 'patch.ambiguous', candidates: [1, 3] },
  ],
  [
    'several places below the hunk before',
    'x\nu\nx\nx\n',
    '@@\n-u\n@@\n-x\n',
    { reason: 'patch.ambiguous', hunk: 2, candidates: [3, 4] },
  ],
  [
    'at most twenty candidates',
    'x\n'.repeat(100),
    '@@\n-x\n',
    {
      reason: 'patch.ambiguous',
      candidates: Array.from({ length: 20 }, (_, i) => i + 1),
      message: /and more/,
    },
  ],
  [
    'added lines alone without a number',
    'a\n',
    '@@\n+b\n',
    { reason: 'patch.ambiguous', candidates: [], message: /add context/ },
  ],
  [
    'added lines alone below a hunk that was not where stated',
    'n\na\nb\n',
    '@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -2,0 +3 @@\n+c\n',
    { reason: 'patch.ambiguous', hunk: 2, candidates: [] },
  ],
  [
    'hunks that change the same line',
    'a\nb\n',
    '@@ -1 +1 @@\n-a\n+A\n@@ -1,2 +1,0 @@\n-a\n-b\n',
    { reason: 'patch.overlap', hunk: 2, line: 1, candidates: [1] },
  ],
  [
    'a kept line that the hunk before removes',
    'a\nb\nc\n',
    '@@ -1,2 +1 @@\n a\n-b\n@@ -2,2 +1,1 @@\n b\n-c\n',
    { reason: 'patch.overlap', hunk: 2, candidates: [2] },
  ],
  [
    'hunks in the wrong order',
    'a\nb\nc\n',
    '@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n',
    { reason: 'patch.overlap', hunk: 2, line: 1 },
  ],
  [
    'added lines in the wrong order',
    'a\nb\nc\n',
    '@@ -3 +3 @@\n-c\n+C\n@@ -1,0 +2 @@\n+n\n',
    { reason: 'patch.overlap', hunk: 2 },
  ],
  [
    'added lines past the end',
    'a\n',
    '@@ -5,0 +6 @@\n+n\n',
    { reason: 'patch.stale', line: 2, message: /only 1 lines/ },
  ],
  [
    'added lines behind a line without newline',
    'a',
    '@@ -1,0 +2 @@\n+n\n',
    { reason: 'patch.stale', line: 2, message: /has no newline/ },
  ],
  [
    'a created file that exists',
    'a\n',
    '--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n',
    { reason: 'patch.exists', hunk: 0 },
  ],
  [
    'a deleted file with more lines',
    'a\nb\n',
    '--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n',
    { reason: 'patch.stale', found: 'b' },
  ],
  [
    'a newline that the file lacks',
    'a\nb',
    '@@ -1,2 +1,2 @@\n a\n-b\n+c\n',
    {
      reason: 'patch.stale',
      line: 2,
      expected: 'b',
      found: 'b',
      message: /ends in no newline where the patch has LF/,
    },
  ],
  [
    'a newline that the patch lacks',
    'a\nb\n',
    `@@ -1,2 +1,2 @@\n a\n-b\n${EOF}+c\n`,
    {
      reason: 'patch.stale',
      line: 2,
      expected: 'b',
      found: 'b',
      message: /ends in LF where the patch has no newline/,
    },
  ],
  [
    'an end before the end of the file',
    'a\nb\n',
    `@@ -1 +1 @@\n-a\n+A\n${EOF}`,
    { reason: 'patch.stale', line: 2, found: 'b', message: /goes on with "b"/ },
  ],
  [
    'terminators that the patch tells apart',
    'a\nb\n',
    '@@ -1,2 +1,2 @@\n-a\r\n+A\n b\n',
    {
      reason: 'patch.stale',
      line: 1,
      expected: 'a\r',
      found: 'a',
      message: /ends in LF where the patch has CRLF/,
    },
  ],
  [
    'a hunk for a last line whose newline the file lacks, though its lines stand elsewhere',
    'a1\n  z\n  ok\n}\n\na2\n  z\n  ok\n}',
    '@@ -7,3 +7,6 @@\n   z\n   ok\n }\n+\n+a3\n+}\n',
    {
      reason: 'patch.stale',
      hunk: 1,
      line: 9,
      candidates: [2],
      message: /ends in no newline where the patch has LF.*its lines match at line 2, which is further off/,
    },
  ],
  [
    'the same without a number',
    'a1\n  z\n  ok\n}\n\na2\n  z\n  ok\n}',
    '@@\n   z\n   ok\n }\n+\n+a3\n+}\n',
    { reason: 'patch.ambiguous', candidates: [2, 7] },
  ],
  [
    'two lines that stand further off than the same with other white space',
    'if a:\n  go\n\nx\ny\nif a:\n    go\n',
    '@@ -6,2 +6,3 @@\n if a:\n   go\n+  stop\n',
    { reason: 'patch.stale', line: 7, candidates: [1] },
  ],
  [
    'what was added at the end already, though its old lines are still at their line',
    'a\nb\nc\nd\n',
    '@@ -1,3 +1,4 @@\n a\n b\n c\n+d\n',
    { reason: 'patch.stale', line: 1, alreadyApplied: true },
  ],
  [
    'what was added at the start already',
    'n\na\nb\nc\n',
    '@@ -1,3 +1,4 @@\n+n\n a\n b\n c\n',
    { reason: 'patch.stale', line: 1, alreadyApplied: true },
  ],
  [
    'what was changed already where its old lines stand in another place',
    'one\nTWO\nthree\nx\none\ntwo\nthree\n',
    '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n',
    { reason: 'patch.stale', line: 1, alreadyApplied: true },
  ],
  [
    'added lines alone that are there already',
    'a\nb\n',
    '@@ -1,0 +2 @@\n+b\n',
    { reason: 'patch.stale', line: 2, alreadyApplied: true },
  ],
  [
    'a hunk without context anywhere but at its line',
    'n\nsecond\nlast\n',
    '@@ -1 +1 @@\n-second\n+2nd\n',
    { reason: 'patch.ambiguous', candidates: [2], message: /no context/ },
  ],
  [
    'a hunk without context below one that moved',
    'n\na\nb\nc\nc2\n',
    '@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -3 +3 @@\n-c\n+C\n',
    { reason: 'patch.ambiguous', hunk: 2, candidates: [4] },
  ],
  [
    'a moved hunk whose lines say too little',
    'a\nb\n}\n\n',
    '@@ -1,2 +1,3 @@\n }\n+x\n \n',
    { reason: 'patch.ambiguous', candidates: [3], message: /too few lines/ },
  ],
  [
    'a moved hunk of one line',
    'a\nb\n',
    '@@ -1 +1,2 @@\n b\n+x\n',
    { reason: 'patch.ambiguous', candidates: [2] },
  ],
  [
    'a hunk whose lines stand further off than a place that is almost like it',
    'f\n1\n2\nend\n\n\n\nf\n1\nTWO\nend\n',
    '@@ -8,4 +8,4 @@\n f\n-1\n+one\n 2\n end\n',
    { reason: 'patch.stale', line: 10, expected: '2', found: 'TWO', candidates: [1] },
  ],
  [
    'a hunk for the end of a file, elsewhere',
    'a\nb\nc\nd\ne\n',
    '@@ -7,3 +7,4 @@\n a\n b\n c\n+x\n',
    { reason: 'patch.ambiguous', candidates: [1], message: /the end of a file/ },
  ],
  [
    'a hunk at its line that matches elsewhere too, when the next one moved',
    'x\ny\nx\ny\nn\nu\nv\n',
    '@@ -1,2 +1,2 @@\n-x\n+X\n y\n@@ -5,2 +5,2 @@\n-u\n+U\n v\n',
    { reason: 'patch.ambiguous', hunk: 1, candidates: [1, 3] },
  ],
  ['a line behind the marker', 'a', `@@ -1 +1,2 @@\n a\n${EOF}+b\n`, { reason: 'patch.malformed', hunk: 1 }],
  [
    'a hunk behind the marker',
    'a',
    `@@ -1 +1 @@\n-a\n${EOF}+b\n@@ -1,0 +2 @@\n+c\n`,
    { reason: 'patch.malformed', hunk: 1 },
  ],
];

describe('applyFilePatch refuses', () => {
  for (const [title, original, patch, { message, ...facts }] of refused) {
    it(title, () => {
      const result = apply(original, patch);
      assert.ok(!result.ok, 'it was applied');
      assert.match(result.message, message ?? /^Cannot /);
      const shown = Object.fromEntries(
        Object.keys(facts).map((key) => [key, result[key as keyof PatchRefusal]]),
      );
      assert.deepEqual(shown, facts);
    });
  }

  it('what only its line places, unless the file is known to be the one that it was made for', () => {
    const hunk = one('@@ -2,2 +2,2 @@\n-x\n+y\n x\n');
    const outcomes = (['same', 'unknown', 'other'] as const).map((base) =>
      applyFilePatch('x\nx\nx\n', hunk, base),
    );
    assert.deepEqual(
      outcomes.map((result) => (result.ok ? result.text : result.reason)),
      ['x\ny\nx\n', 'patch.ambiguous', 'patch.ambiguous'],
    );
    const addition = one('@@ -1,0 +2 @@\n+y\n');
    assert.ok(!applyFilePatch('x\nx\n', addition, 'other').ok);
  });

  it('long lines in full: the message shows only their start', () => {
    const result = apply(`${'y'.repeat(5000)}\n`, `@@ -1 +1 @@\n-${'x'.repeat(5000)}\n+z\n`);
    assert.ok(!result.ok && result.message.length < 500);
    assert.equal(result.expected?.length, 5000);
  });
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
