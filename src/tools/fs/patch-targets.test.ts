import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { patchTargets } from './patch-targets.ts';

const HUNK = '@@ -1 +1 @@\n-a\n+b\n';
const plain = (before: string, after = before) => `--- a/${before}\n+++ b/${after}\n${HUNK}`;
const renamed = (from: string, to: string) =>
  `diff --git a/${from} b/${to}\nsimilarity index 100%\nrename from ${from}\nrename to ${to}\n`;
const CREATED = `--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n`;
const DELETED = `--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n`;

const pairs = (path: string, diff: string) => patchTargets(path, diff).map(({ from, to }) => [from, to]);

describe('patchTargets', () => {
  const TABLE: [string, string, string, [string | null, string | null][]][] = [
    ['hunks without a header', 'src/x', HUNK, [['src/x', 'src/x']]],
    ['a header that is the path', 'src/x', plain('src/x'), [['src/x', 'src/x']]],
    ['a header that is the end of the path', 'app/src/x', plain('src/x'), [['app/src/x', 'app/src/x']]],
    ['a header that ends in the path', 'x', plain('src/x'), [['x', 'x']]],
    ['a path spelled with dots', './src//x', plain('src/x'), [['./src//x', './src//x']]],
    ['an absolute path', '/w/src/x', plain('src/x'), [['/w/src/x', '/w/src/x']]],
    ['a path whose folder the header names', 'src', plain('x'), [['src/x', 'src/x']]],
    ['the root', '.', plain('src/x'), [['src/x', 'src/x']]],
    ['a folder with a slash', 'src/', plain('x'), [['src/x', 'src/x']]],
    ['the top of the disk, however spelled', '//', plain('x'), [['/x', '/x']]],
    ['a folder named like the file in it', 'x/', plain('x'), [['x/x', 'x/x']]],
    [
      'several files',
      'src',
      plain('x') + plain('y'),
      [
        ['src/x', 'src/x'],
        ['src/y', 'src/y'],
      ],
    ],
    ['an old copy compared with the file', 'x', `--- x.orig\n+++ x\n${HUNK}`, [['x', 'x']]],
    ['an old copy in a folder', '.', `--- x.orig\n+++ x\n${HUNK}`, [['x', 'x']]],
    ['a creation', 'sub/new.txt', CREATED, [[null, 'sub/new.txt']]],
    ['a creation in a folder', 'sub/', CREATED, [[null, 'sub/new.txt']]],
    ['a deletion', 'old.txt', DELETED, [['old.txt', null]]],
    ['a rename', 'a', renamed('a', 'b'), [['a', 'b']]],
    ['a rename of a longer path', 'app/a', renamed('a', 'lib/b'), [['app/a', 'app/lib/b']]],
    ['a rename of a shorter path', 'a', renamed('src/a', 'src/b'), [['a', 'b']]],
    ['a rename of an absolute path', '/w/a', renamed('w/a', 'w/b'), [['/w/a', '/w/b']]],
    ['a rename by its new name', 'app/lib/b', renamed('a', 'lib/b'), [['app/a', 'app/lib/b']]],
    ['a rename in a folder', '.', renamed('a', 'b'), [['a', 'b']]],
    [
      'two files that trade names',
      '.',
      renamed('a', 'b') + renamed('b', 'a'),
      [
        ['a', 'b'],
        ['b', 'a'],
      ],
    ],
  ];
  for (const [what, path, diff, expected] of TABLE) {
    it(`understands ${what}`, () => assert.deepEqual(pairs(path, diff), expected));
  }

  const REFUSED: [string, string, string, string][] = [
    ['text that is no diff', 'x', 'hello', 'patch.malformed'],
    ['a binary diff', 'x', 'diff --git a/x b/x\nGIT binary patch\n', 'patch.binary'],
    ['a header that climbs', '.', plain('../x'), 'patch.wrong_file'],
    ['a header that climbs and comes back', 'src/', plain('../src/x'), 'patch.wrong_file'],
    ['an absolute header', '.', `--- /etc/passwd\n+++ /etc/passwd\n${HUNK}`, 'patch.wrong_file'],
    ['a header that is the folder', '.', plain('.'), 'patch.wrong_file'],
    ['a rename that leaves the folder', 'src/', renamed('a', '../../b'), 'patch.wrong_file'],
    ['a rename that leaves the shorter path', 'a', renamed('src/a', 'lib/b'), 'patch.wrong_file'],
    ['a rename that climbs', 'src/a', renamed('src/a', 'src/../../b'), 'patch.wrong_file'],
    ['hunks without a header for a folder', 'src/', HUNK, 'patch.wrong_file'],
    ['one file twice', '.', plain('x') + plain('x'), 'patch.malformed'],
    ['one file spelled in two ways', '.', plain('x') + plain('./x'), 'patch.malformed'],
    ['two renames to one name', '.', renamed('a', 'c') + renamed('b', 'c'), 'patch.malformed'],
  ];
  for (const [what, path, diff, reason] of REFUSED) {
    it(`refuses ${what}`, () => {
      assert.throws(
        () => patchTargets(path, diff),
        (thrown: { reason?: string }) => thrown.reason === reason,
      );
    });
  }
});
