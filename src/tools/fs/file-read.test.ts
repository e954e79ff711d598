import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import type { Effect } from '../../contract/effect.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { fileRead } from './file-read.ts';

const harness = await fileHarness();

describe('file_read', () => {
  const drop = (path: string) => rmSync(join(harness.root, path));

  const LINES = 'one\ntwo\r\nthree\n\nfive';

  describe('whole', () => {
    const TABLE: [string, string | Buffer, string, 'utf-8' | 'base64'][] = [
      ['text', 'fn main() {}\n', 'fn main() {}\n', 'utf-8'],
      ['an empty file', '', '', 'utf-8'],
      ['a byte order mark and CRLF', '\uFEFFa\r\nb\r\n', '\uFEFFa\r\nb\r\n', 'utf-8'],
      ['Latin-1 as base64', Buffer.from([0xe9, 10]), '6Qo=', 'base64'],
      ['binary as base64', Buffer.from([0, 1, 2]), 'AAEC', 'base64'],
      ['a line of 1 MiB', 'x'.repeat(1024 * 1024), 'x'.repeat(1024 * 1024), 'utf-8'],
    ];
    for (const [what, bytes, content, encoding] of TABLE) {
      it(`answers ${what}, with its size and hash`, async () => {
        harness.put('whole', bytes);
        const { data } = await harness.call(fileRead, { path: 'whole' });
        const size = Buffer.byteLength(bytes);
        assert.deepEqual(data, { content, encoding, size, sha256: sha256Hex(bytes) });
      });
    }

    it('answers the hash that sha256sum prints', async () => {
      harness.put('whole', 'abc');
      const { data } = await harness.call(fileRead, { path: 'whole' });
      const printed = execFileSync('sha256sum', [join(harness.root, 'whole')], { encoding: 'utf8' });
      assert.equal(data.sha256, printed.slice(0, 64));
    });

    it('answers synchronously for a small file, so that no turn of the event loop is lost', async () => {
      harness.put('whole', 'abc');
      let sync: unknown;
      const spy = {
        ...fileRead,
        run: (...given: Parameters<typeof fileRead.run>) => (sync = fileRead.run(...given)),
      };
      await harness.call(spy as typeof fileRead, { path: 'whole' });
      assert.ok(!(sync instanceof Promise));
    });

    it('reads 8 MiB when max_bytes allows', async () => {
      const big = Buffer.alloc(8 * 1024 * 1024, 'abcdefg\n');
      harness.put('big', big);
      const { data } = await harness.call(fileRead, { path: 'big', max_bytes: big.length });
      assert.equal(data.content, big.toString());
      assert.equal(data.sha256, sha256Hex(big));
      drop('big');
    });

    for (const name of ['sp ace', 'ünï', 'e\u0301', '\u00e9', '-rf', 'a\nb', '日本/語', '*?[x]']) {
      it(`takes the name ${JSON.stringify(name)} for exactly that name`, async () => {
        harness.put(`names/${name}`, name);
        assert.equal((await harness.call(fileRead, { path: `names/${name}` })).data.content, name);
      });
    }

    it('follows links inside of the workspace', async () => {
      harness.put('dir/target', 'here');
      symlinkSync('dir', join(harness.root, 'dirlink'));
      symlinkSync('dirlink/target', join(harness.root, 'link'));
      assert.equal((await harness.call(fileRead, { path: 'link' })).data.content, 'here');
    });

    it('takes an absolute path below the root', async () => {
      harness.put('sub/x', 'abs');
      const { data, effects } = await harness.call(fileRead, { path: join(harness.root, 'sub/x') });
      assert.equal(data.content, 'abs');
      assert.deepEqual(effects, [{ kind: 'fs.read', path: 'sub/x' }]);
    });
  });

  describe('encoding', () => {
    it('base64 encodes text, too', async () => {
      harness.put('enc', 'hi');
      const { data } = await harness.call(fileRead, { path: 'enc', encoding: 'base64' });
      assert.equal(data.content, 'aGk=');
    });

    it('utf8 refuses what is not UTF-8', async () => {
      harness.put('enc', Buffer.from([0xff]));
      const failure = await harness.refuse(fileRead, { path: 'enc', encoding: 'utf8' });
      assert.equal(failure.reason, 'input.encoding');
    });
  });

  describe('lines', () => {
    const TABLE: [string, object, string, object][] = [
      ['from a line on', { start_line: 3 }, 'three\n\nfive', { start_line: 3, end_line: 5 }],
      ['up to a line', { end_line: 2 }, 'one\ntwo\r\n', { start_line: 1, end_line: 2 }],
      ['one line with CRLF', { start_line: 2, end_line: 2 }, 'two\r\n', { start_line: 2, end_line: 2 }],
      ['an empty line', { start_line: 4, end_line: 4 }, '\n', { start_line: 4, end_line: 4 }],
      ['beyond the end', { start_line: 5, end_line: 99 }, 'five', { start_line: 5, end_line: 5 }],
    ];
    for (const [what, range, content, expected] of TABLE) {
      it(`answers ${what}, with their number and the hash of the whole`, async () => {
        harness.put('lines', LINES);
        const { data } = await harness.call(fileRead, { path: 'lines', ...range });
        assert.equal(data.content, content);
        assert.deepEqual({ ...data, ...expected }, data);
        assert.deepEqual([data.total_lines, data.truncated, data.sha256], [5, false, sha256Hex(LINES)]);
        assert.equal(LINES.slice(data.start_byte, data.end_byte), content);
      });
    }

    it('answers nothing for line 1 of an empty file', async () => {
      harness.put('lines', '');
      const { data } = await harness.call(fileRead, { path: 'lines', start_line: 1 });
      assert.deepEqual([data.content, data.end_line, data.total_lines], ['', 0, 0]);
    });

    it('cuts at a line, says so, and can be read on from there', async () => {
      harness.put('lines', LINES);
      const { data, warnings } = await harness.call(fileRead, {
        path: 'lines',
        start_line: 1,
        max_bytes: 10,
      });
      assert.deepEqual([data.content, data.end_line, data.truncated], ['one\ntwo\r\n', 2, true]);
      assert.equal(warnings[0]?.reason, 'content.truncated');
      assert.match(warnings[0].message, /start_line 3/);
    });

    it('cuts a long line between characters, and can be read on by bytes', async () => {
      harness.put('long', 'é'.repeat(100));
      const { data, warnings } = await harness.call(fileRead, { path: 'long', start_line: 1, max_bytes: 5 });
      assert.deepEqual([data.content, data.end_byte, data.truncated], ['éé', 4, true]);
      assert.match(warnings[0]!.message, /start_byte 4/);
      const rest = await harness.call(fileRead, { path: 'long', start_byte: 4 });
      assert.equal(rest.data.content, 'é'.repeat(98));
    });

    it('finds lines far inside of a file of several pieces', async () => {
      const lines = Array.from({ length: 300_000 }, (_, i) => `line ${i + 1}\n`);
      harness.put('far', lines.join(''));
      const { data } = await harness.call(fileRead, { path: 'far', start_line: 250_000, end_line: 250_001 });
      assert.equal(data.content, 'line 250000\nline 250001\n');
      assert.deepEqual([data.total_lines, data.sha256], [300_000, sha256Hex(lines.join(''))]);
      drop('far');
    });

    it('leaves hash and number of lines out where the file is over 64 MiB', async () => {
      harness.put('huge', Buffer.alloc(65 * 1024 * 1024, 'abcdefghijklmno\n'));
      const { data } = await harness.call(fileRead, { path: 'huge', start_line: 70_000, end_line: 70_000 });
      assert.deepEqual(
        [data.content, data.sha256, data.total_lines],
        ['abcdefghijklmno\n', undefined, undefined],
      );
      const tail = await harness.call(fileRead, { path: 'huge', start_byte: 65 * 1024 * 1024 - 4 });
      assert.deepEqual([tail.data.content, tail.data.sha256], ['mno\n', undefined]);
      drop('huge');
    });
  });

  describe('bytes', () => {
    const TABLE: [string, object, string, [number, number]][] = [
      ['from a byte on', { start_byte: 16 }, 'five', [16, 20]],
      ['up to a byte', { end_byte: 3 }, 'one', [0, 3]],
      ['between two', { start_byte: 4, end_byte: 7 }, 'two', [4, 7]],
      ['beyond the end', { start_byte: 16, end_byte: 99 }, 'five', [16, 20]],
      ['none at the end', { start_byte: 20 }, '', [20, 20]],
    ];
    for (const [what, range, content, [start, end]] of TABLE) {
      it(`answers those ${what}`, async () => {
        harness.put('bytes', LINES);
        const { data } = await harness.call(fileRead, { path: 'bytes', ...range });
        const { sha256, ...rest } = data;
        const where = { start_byte: start, end_byte: end };
        assert.deepEqual(rest, { content, encoding: 'utf-8', size: 20, ...where, truncated: false });
        assert.equal(sha256, sha256Hex(LINES));
      });
    }

    it('answers base64 where a range begins inside of a character', async () => {
      harness.put('bytes', 'é');
      const { data } = await harness.call(fileRead, { path: 'bytes', start_byte: 1 });
      assert.deepEqual([data.content, data.encoding], ['qQ==', 'base64']);
    });

    it('cuts at max_bytes and says so', async () => {
      harness.put('bytes', LINES);
      const { data, warnings } = await harness.call(fileRead, { path: 'bytes', start_byte: 4, max_bytes: 3 });
      assert.deepEqual([data.content, data.end_byte, data.truncated], ['two', 7, true]);
      assert.equal(warnings.length, 1);
    });
  });

  describe('refuses', () => {
    before(() => {
      harness.put('r/file', LINES);
      mkdirSync(join(harness.root, 'r/dir'));
      symlinkSync('/etc/passwd', join(harness.root, 'r/out'));
      symlinkSync('/etc', join(harness.root, 'r/outdir'));
      symlinkSync('missing', join(harness.root, 'r/dangling'));
      symlinkSync('circle', join(harness.root, 'r/circle'));
      execFileSync('mkfifo', [join(harness.root, 'r/fifo')]);
    });

    const TABLE: [string, Record<string, string | number | boolean>, string][] = [
      ['a file over max_bytes', { path: 'r/file', max_bytes: 3 }, 'file.too_large'],
      ['nothing', { path: 'r/missing' }, 'path.not_found'],
      ['a directory', { path: 'r/dir' }, 'path.is_directory'],
      ['the root', { path: '.' }, 'path.is_directory'],
      ['a FIFO, without waiting', { path: 'r/fifo' }, 'path.not_regular'],
      ['a file as a folder', { path: 'r/file/x' }, 'path.not_directory'],
      ['a link that leaves', { path: 'r/out' }, 'path.outside_workspace'],
      ['a folder link that leaves', { path: 'r/outdir/passwd' }, 'path.outside_workspace'],
      ['a link to nothing', { path: 'r/dangling' }, 'path.not_found'],
      ['a link to itself', { path: 'r/circle' }, 'path.invalid'],
      ['climbing', { path: '../../etc/passwd' }, 'path.outside_workspace'],
      ['climbing from below', { path: 'r/../../x' }, 'path.outside_workspace'],
      ['an absolute path elsewhere', { path: '/etc/passwd' }, 'path.outside_workspace'],
      ['a NUL in the path', { path: 'r/file\0.txt' }, 'path.invalid'],
      ['a name of 300 bytes', { path: 'x'.repeat(300) }, 'path.invalid'],
      ['an empty path', { path: '' }, 'input.schema'],
      ['no path', {}, 'input.schema'],
      ['an argument that there is not', { path: 'r/file', maxBytes: 3 }, 'input.schema'],
      ['a negative limit', { path: 'r/file', max_bytes: -1 }, 'input.schema'],
      ['a limit beyond 16 MiB', { path: 'r/file', max_bytes: 1e9 }, 'input.schema'],
      ['an encoding that there is not', { path: 'r/file', encoding: 'utf16' }, 'input.schema'],
      ['line 0', { path: 'r/file', start_line: 0 }, 'input.schema'],
      ['half a line', { path: 'r/file', start_line: 1.5 }, 'input.schema'],
      ['a line beyond the end', { path: 'r/file', start_line: 6 }, 'input.range'],
      ['lines backwards', { path: 'r/file', start_line: 3, end_line: 2 }, 'input.range'],
      ['a byte beyond the end', { path: 'r/file', start_byte: 21 }, 'input.range'],
      ['bytes backwards', { path: 'r/file', start_byte: 3, end_byte: 2 }, 'input.range'],
      ['lines and bytes', { path: 'r/file', start_line: 1, start_byte: 0 }, 'input.range'],
      ['lines of a directory', { path: 'r/dir', start_line: 1 }, 'path.is_directory'],
    ];
    for (const [what, args, reason] of TABLE) {
      it(what, async () => {
        const failure = await harness.refuse(fileRead, args);
        assert.equal(failure.reason, reason, failure.message);
        assert.ok(!failure.message.includes(harness.root), failure.message);
      });
    }

    it('a file over max_bytes, with its size', async () => {
      const failure = await harness.refuse(fileRead, { path: 'r/file', max_bytes: 3 });
      assert.equal(failure.details?.size, 20);
    });

    it('what policy denies where a link leads', async () => {
      symlinkSync('file', join(harness.root, 'r/alias'));
      const denies = (effect: Effect) => 'path' in effect && effect.path === 'r/file';
      const failure = await harness.refuse(fileRead, { path: 'r/alias' }, { denies });
      assert.equal(failure.reason, 'policy.denied');
    });

    it('to go on after an abort', async () => {
      harness.put('aborted', Buffer.alloc(3 * 1024 * 1024));
      const signal = AbortSignal.abort(Object.assign(new Error('gone'), { reason: 'time.cancelled' }));
      const failure = await harness.refuse(fileRead, { path: 'aborted', start_line: 1 }, { signal });
      assert.equal(failure.reason, 'time.cancelled');
    });
  });
});
