import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { parsePatch } from '../../base/unified-diff/parse-patch.ts';
import { patchBytes } from './run-file-patch.ts';

const apply = (bytes: Uint8Array, diff: string) =>
  Buffer.from(patchBytes('x', bytes, parsePatch(diff)[0]!).bytes);
const latin1 = (text: string) => Buffer.from(text, 'latin1');

describe('patchBytes', () => {
  it('takes characters for bytes in a Latin-1 file, and keeps the rest of it', () => {
    const patched = apply(latin1('café\nthé\n'), '@@\n café\n-thé\n+crème\n');
    assert.deepEqual(patched, latin1('café\ncrème\n'));
  });

  it('takes characters for their UTF-8 bytes in a UTF-8 file with a broken byte', () => {
    const file = Buffer.concat([Buffer.from('日本\nthé\n'), Buffer.from([0xff, 10])]);
    const patched = apply(file, '@@\n 日本\n-thé\n+crème\n');
    assert.deepEqual(patched, Buffer.concat([Buffer.from('日本\ncrème\n'), Buffer.from([0xff, 10])]));
  });

  it('keeps CRLF, the byte order mark and a missing last newline', () => {
    const patched = apply(Buffer.from('\uFEFFa\r\nb\r\nc'), '@@\n a\n-b\n+B\n');
    assert.deepEqual(patched, Buffer.from('\uFEFFa\r\nB\r\nc'));
  });

  const INDEXED = (old: string, fresh: string, hunks: string) =>
    `diff --git a/x b/x\nindex ${old}..${fresh} 100644\n--- a/x\n+++ b/x\n${hunks}`;
  const hash = (text: string) =>
    createHash('sha1').update(`blob ${text.length}\0${text}`).digest('hex').slice(0, 10);

  it('checks the result by the hash of the diff, where the file is the one that it was made for', () => {
    const [old, fresh] = ['a\nb\nc\nd\ne\nf\ng\nh\n', 'A\nb\nc\nd\ne\nf\ng\nH\n'];
    const first = '@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n d\n';
    const last = '@@ -5,4 +5,4 @@\n e\n f\n g\n-h\n+H\n';
    const diff = (hunks: string) => INDEXED(hash(old), hash(fresh), hunks);
    assert.equal(String(apply(Buffer.from(old), diff(first + last))), fresh);
    const crlf = (text: string) => Buffer.from(text.replaceAll('\n', '\r\n'));
    assert.deepEqual(apply(crlf(old), diff(first + last)), crlf(fresh));
    for (const spoilt of [first, first + last.replace('+H', '+h2')]) {
      assert.throws(
        () => apply(Buffer.from(old), diff(spoilt)),
        (thrown: { reason?: string; message: string }) =>
          thrown.reason === 'patch.malformed' && /cut off or edited/.test(thrown.message),
      );
      // Another version of the file: the hash says nothing of what becomes of it.
      assert.ok(apply(Buffer.from(`${old}more\n`), diff(spoilt)));
    }
  });

  it('takes a new file as it is, whatever hash was made up for it', () => {
    const diff =
      'diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n';
    assert.equal(String(apply(new Uint8Array(), diff)), 'a\n');
  });

  const REFUSED: [string, string, string, string][] = [
    ['context that is not there', 'x\ny\n', '@@\n z\n+q\n', 'patch.stale'],
    ['context that is there twice', 'a\na\n', '@@\n a\n+q\n', 'patch.ambiguous'],
    ['a new file over content', 'a\n', '--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+q\n', 'path.exists'],
    [
      'overlapping hunks',
      'a\nb\n',
      '@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -1,2 +1,2 @@\n-a\n+x\n b\n',
      'patch.overlap',
    ],
  ];
  for (const [what, file, diff, reason] of REFUSED) {
    it(`refuses ${what}, and says where`, () => {
      assert.throws(
        () => apply(Buffer.from(file), diff),
        (thrown: { reason?: string; message: string; details?: { path?: string } }) =>
          thrown.reason === reason &&
          thrown.details?.path === 'x' &&
          thrown.message.startsWith('Cannot patch "x"'),
      );
    });
  }
});
