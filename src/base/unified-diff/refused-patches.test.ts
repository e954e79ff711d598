import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyFilePatch } from './apply-patch.ts';
import type { FilePatch, PatchRefusal } from './file-patch.ts';
import { parsePatch } from './parse-patch.ts';

const one = (patch: string): FilePatch => parsePatch(patch)[0]!;
const apply = (original: string, patch: string) => applyFilePatch(original, one(patch));
const EOF = '\\ No newline at end of file\n';

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
