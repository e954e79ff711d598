import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { applyFilePatch } from './apply-patch.ts';
import { isPatchSyntaxError } from './file-patch.ts';
import { isBeginPatch, parseBeginPatch } from './parse-begin-patch.ts';

const whole = (body: string) => `*** Begin Patch\n${body}*** End Patch\n`;
const update = (hunks: string) => parseBeginPatch(whole(`*** Update File: x\n${hunks}`))[0]!;
const applied = (file: string, hunks: string): string => {
  const result = applyFilePatch(file, update(hunks));
  assert.ok(result.ok, JSON.stringify(result));
  return result.text;
};
const refused = (file: string, hunks: string) => {
  const result = applyFilePatch(file, update(hunks));
  assert.ok(!result.ok, JSON.stringify(result));
  return result;
};

describe('parseBeginPatch', () => {
  it('reads all kinds of files', () => {
    const files = parseBeginPatch(
      whole(
        '*** Add File: new/a b.txt\n+one\n+\n*** Delete File: gone\n\n*** Update File: x\n*** Move to: y\n@@ class A\n@@ def f\n kept\n-old\n+new\n*** End of File\n*** Update File: z\n*** Move to: zz\n',
      ),
    );
    assert.deepEqual(
      files.map(({ change, pathBefore, pathAfter, hunks }) => [change, pathBefore, pathAfter, hunks.length]),
      [
        ['create', null, 'new/a b.txt', 1],
        ['delete', 'gone', null, 0],
        ['rename', 'x', 'y', 1],
        ['rename', 'z', 'zz', 0],
      ],
    );
    const [hunk] = files[2]!.hunks;
    assert.deepEqual([hunk!.anchors, hunk!.atEnd, hunk!.patchLine], [['class A', 'def f'], true, 9]);
    assert.deepEqual(
      hunk!.lines.map(({ op, text }) => op + text),
      [' kept', '-old', '+new'],
    );
  });

  it('is for texts whose first line says so', () => {
    for (const text of ['*** Begin Patch', '\n\n*** Begin Patch \r\n', '\uFEFF*** Begin Patch\n']) {
      assert.ok(isBeginPatch(text));
    }
    for (const text of ['', '--- a\n*** Begin Patch\n', '*** Begin Patches\n'])
      assert.ok(!isBeginPatch(text));
  });

  it('takes a text whose lines all end in CRLF, and leaves a CR of the content', () => {
    const [file] = parseBeginPatch(whole('*** Update File: x\n@@\n-a\n+b\n').replaceAll('\n', '\r\n'));
    assert.deepEqual(
      file!.hunks[0]!.lines.map(({ text }) => text),
      ['a', 'b'],
    );
    assert.equal(update('@@\n-a\r\n+b\n').hunks[0]!.lines[0]!.text, 'a\r');
  });

  const ONE = '*** Update File: x\n@@\n-a\n+b\n';
  const malformed: [string, string, number, RegExp][] = [
    ['a text without its end', `*** Begin Patch\n${ONE}`, 5, /cut off/],
    ['a text that goes on', `${whole(ONE)}more\n`, 7, /below "\*\*\* End Patch"/],
    ['no file', whole(''), 2, /names no file/],
    ['lines of no file', whole(`@@\n-a\n${ONE}`), 2, /belongs to no file/],
    ['a file without a change', whole('*** Update File: x\n'), 2, /no change of it/],
    ['a change that changes nothing', whole('*** Update File: x\n@@\n a\n'), 3, /adds and removes nothing/],
    ['a header without a change', whole('*** Update File: x\n@@ a\n'), 3, /adds and removes nothing/],
    ['a line without a mark', whole(`${ONE}c\n`), 6, /begins with none of/],
    ['line numbers', whole('*** Update File: x\n@@ -1,2 +1,2 @@\n-a\n+b\n'), 3, /line numbers/],
    ['a new file with other lines', whole('*** Add File: x\n+a\nb\n'), 4, /does not begin with "\+"/],
    ['lines of a deleted file', whole('*** Delete File: x\n-a\n'), 3, /takes none/],
    ['a file without a name', whole('*** Add File: \n+a\n'), 2, /names no path/],
    ['a move to the same place', whole('*** Update File: x\n*** Move to: x\n'), 3, /where it is/],
    [
      'lines below the end of the file',
      whole(`${ONE}*** End of File\n+c\n`),
      7,
      /below "\*\*\* End of File"/,
    ],
    ['an end of nothing', whole('*** Update File: x\n*** End of File\n'), 3, /no lines of a change/],
    ['another word', whole(`${ONE}*** Rename File: y\n`), 6, /begins with none of/],
  ];
  for (const [what, text, line, fact] of malformed) {
    it(`refuses ${what}, and names the line`, () => {
      assert.throws(
        () => parseBeginPatch(text),
        (error) => {
          assert.ok(isPatchSyntaxError(error));
          assert.match(error.message, fact);
          assert.equal(error.line, line);
          return true;
        },
      );
    });
  }
});

describe('a hunk of a "*** Begin Patch"', () => {
  const FILE = 'class A:\n  def f():\n    pass\n\nclass B:\n  def f():\n    pass\n';

  it('goes to the one place where its lines stand', () => {
    assert.equal(applied('a\nb\nc\n', ' a\n-b\n+B\n'), 'a\nB\nc\n');
    assert.equal(applied('a\nb\nc\n', '@@\n-a\n@@\n+x\n c\n'), 'b\nx\nc\n');
  });

  it('goes to the one place below its headers, or where the last of them stands', () => {
    const want = FILE.replace(/pass\n$/, 'return\n');
    assert.equal(applied(FILE, '@@ class B:\n@@ def f():\n-    pass\n+    return\n'), want);
    assert.equal(applied(FILE, '@@ class B:\n class B:\n   def f():\n-    pass\n+    return\n'), want);
  });

  it('is refused where several places are below them, with the places', () => {
    for (const header of ['', '@@ class A:\n', '@@ class A:\n@@ def f():\n']) {
      const { reason, candidates } = refused(FILE, `${header}-    pass\n+    return\n`);
      assert.deepEqual([reason, candidates], ['patch.ambiguous', [3, 7]]);
    }
  });

  it('is refused where its header is not there, or only below its lines', () => {
    assert.match(refused(FILE, '@@ class C:\n-    pass\n+    x\n').message, /"@@ class C:"/);
    assert.match(refused(FILE, '@@ class B:\n@@ class A:\n-    pass\n+    x\n').message, /below line 5/);
    assert.match(refused('a\nb\nc\n', '@@ c\n-a\n+x\n').message, /above the line of its "@@" header/);
  });

  it('is refused where only white space differs, with the lines of the file', () => {
    const { reason, actual, message } = refused('x\nif a {\n\tb()\n}\n', ' if a {\n-    b()\n+    c()\n }\n');
    assert.deepEqual([reason, actual], ['patch.stale', { from: 2, to: 4, text: 'if a {\n\tb()\n}' }]);
    assert.match(message, /other white space, where the file has:\nif a \{\n\tb\(\)\n\}$/);
  });

  it('is refused where its change is there, or the hunk before it lies below', () => {
    assert.equal(refused('a\nB\nc\n', ' a\n-b\n+B\n c\n').alreadyApplied, true);
    assert.equal(refused('a\nx\n', ' a\n+x\n').alreadyApplied, true);
    assert.equal(refused('a\nb\n', '@@\n-b\n+B\n@@\n-a\n+A\n').reason, 'patch.overlap');
  });

  it('of added lines goes to the end of the file only if it says so, and once', () => {
    assert.equal(applied('a\nb\n', '@@\n+c\n*** End of File\n'), 'a\nb\nc\n');
    assert.equal(refused('a\nb\n', '@@\n+c\n').reason, 'patch.ambiguous');
    assert.equal(refused('a\nb\n', '@@ b\n+c\n').reason, 'patch.ambiguous');
    assert.equal(refused('a\nb\n', '@@\n+a\n+b\n*** End of File\n').alreadyApplied, true);
    assert.equal(applied('', '@@\n+c\n'), 'c\n');
  });

  it('that ends the file matches nowhere else', () => {
    assert.equal(applied('a\nb\na\n', '@@\n-a\n+c\n*** End of File\n'), 'a\nb\nc\n');
    assert.equal(refused('a\nb\n', '@@\n-a\n+c\n*** End of File\n').reason, 'patch.stale');
  });

  it('leaves line ends, a byte order mark and a missing last newline as they are', () => {
    assert.equal(applied('a\r\nb\r\n', ' a\n-b\n+B\n+C\n'), 'a\r\nB\r\nC\r\n');
    assert.equal(applied('\uFEFFa\nb\n', '-a\n+A\n b\n'), '\uFEFFA\nb\n');
    assert.equal(applied('a\nb', ' a\n-b\n+B\n+C\n'), 'a\nB\nC');
    assert.equal(applied('a\r\nb', ' a\n-b\n+B\n+C\n'), 'a\r\nB\r\nC');
    assert.equal(applied('b', '-b\n+B\n'), 'B');
    assert.equal(applied('a\nb', '@@\n+c\n*** End of File\n'), 'a\nb\nc');
  });

  it('takes empty lines for kept ones, but not at its end', () => {
    assert.equal(applied('a\n\nb\n', ' a\n\n-b\n+B\n\n'), 'a\n\nB\n');
  });

  it('property: a change of any lines is made exactly, or refused', () => {
    const line = fc.constantFrom('a', 'b', '  b', '', '}', 'long line');
    const text = fc.array(line, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(
        text,
        fc.nat(11),
        fc.nat(3),
        fc.array(line, { maxLength: 3 }),
        fc.boolean(),
        (lines, at, count, fresh, open) => {
          const start = Math.min(at, lines.length - 1);
          const end = Math.min(lines.length, start + count);
          const old = lines.slice(start, end);
          const hunk = [
            ...lines.slice(Math.max(0, start - 2), start).map((one) => ` ${one}`),
            ...old.map((one) => `-${one}`),
            ...fresh.map((one) => `+${one}`),
            ...lines.slice(end, end + 2).map((one) => ` ${one}`),
          ];
          if (old.length + fresh.length === 0) return;
          const file = lines.join('\n') + (open && lines.at(-1) !== '' ? '' : '\n');
          const result = applyFilePatch(file, update(`@@\n${hunk.join('\n')}\n`));
          const right = [...lines.slice(0, start), ...fresh, ...lines.slice(end)];
          const want = right.length === 0 ? '' : right.join('\n') + (file.endsWith('\n') ? '\n' : '');
          if (result.ok) assert.equal(result.text, want, JSON.stringify([file, hunk]));
        },
      ),
      { numRuns: 2000 },
    );
  });
});
