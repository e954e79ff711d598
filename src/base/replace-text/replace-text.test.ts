import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { type ReplaceRefusal, replaceText, type TextEdit } from './replace-text.ts';

const edit = (old: string, fresh: string, count = 1): TextEdit => ({ old, new: fresh, count });
const replaced = (text: string, ...edits: TextEdit[]) => {
  const result = replaceText(text, edits);
  assert.ok(result.ok, JSON.stringify(result));
  return result;
};
const refused = (text: string, ...edits: TextEdit[]): ReplaceRefusal => {
  const result = replaceText(text, edits);
  assert.ok(!result.ok, JSON.stringify(result));
  return result;
};

describe('replaceText', () => {
  it('replaces the one place, and names its line', () => {
    assert.deepEqual(replaced('a\nb\nc\n', edit('b\nc', 'B')), { ok: true, text: 'a\nB\n', lines: [2] });
  });

  it('replaces as many places as expected, and takes "$&" in the new text as it is', () => {
    const { text, lines } = replaced('x y\nx\n', edit('x', '$&$1', 2));
    assert.deepEqual([text, lines], ['$&$1 y\n$&$1\n', [1, 2]]);
  });

  it('refuses any other count, with the lines', () => {
    const text = 'x\n\nx x\n';
    for (const count of [1, 2, 4]) {
      const { reason, candidates, found } = refused(text, edit('x', 'y', count));
      assert.deepEqual([reason, candidates, found], ['patch.ambiguous', [1, 3, 3], 3]);
    }
    assert.match(refused('x'.repeat(99), edit('x', 'y')).fact, /more than 20 times .* and more/);
  });

  it('refuses places that overlap, whatever count is expected', () => {
    for (const count of [1, 2, 3])
      assert.equal(refused('aaaa', edit('aa', 'b', count)).reason, 'patch.ambiguous');
  });

  it('looks for every edit in the text as it was', () => {
    assert.equal(replaced('a b', edit('a', 'b'), edit('b', 'a')).text, 'b a');
    const { reason, edit: number } = refused('a b', edit('a', 'x'), edit('x', 'y'));
    assert.deepEqual([reason, number], ['patch.stale', 2]);
  });

  it('refuses edits that touch the same text', () => {
    assert.equal(
      refused('one two three', edit('one two', '1'), edit('two three', '2')).reason,
      'patch.overlap',
    );
    assert.equal(replaced('onetwo', edit('two', '2'), edit('one', '1')).text, '12');
  });

  it('refuses what changes nothing, and half a character', () => {
    for (const [old, fresh] of [
      ['', 'x'],
      ['a', 'a'],
    ] as const) {
      assert.equal(refused('a', edit(old, fresh)).reason, 'patch.empty');
    }
    assert.equal(refused('a\r\nb\r\n', edit('a\nb', 'a\r\nb')).reason, 'patch.empty');
    assert.equal(refused('😀', edit('\ud83d', 'x')).reason, 'input.encoding');
  });

  it('adds whole lines once, and again where more of the text says so', () => {
    const { reason, fact } = refused('a\nb\nc\n', edit('b\n', 'a\nb\n'));
    assert.equal(reason, 'patch.stale');
    assert.match(fact, /made already/);
    assert.equal(replaced('a\nb\nc\n', edit('a\nb\n', 'a\na\nb\n')).text, 'a\na\nb\nc\n');
    assert.equal(replaced('    b\n', edit('b\n', '  b\n')).text, '      b\n');
  });

  it('takes the end of a file without its last line end for one more place', () => {
    const { reason, candidates } = refused('a\nb\na', edit('a\n', 'x\n'));
    assert.deepEqual([reason, candidates], ['patch.ambiguous', [1, 3]]);
    assert.equal(refused('a\nb\na', edit('a\n', 'x\n', 2)).reason, 'patch.ambiguous');
    assert.equal(replaced('a\nb\nba', edit('a', 'x', 2)).text, 'x\nb\nbx');
  });

  it('does not take the end of the line above for an empty line', () => {
    assert.match(refused('a\nb\nc\n', edit('\nb\n', '')).fact, /that of line 1: two lines would become one/);
    assert.equal(replaced('a\n\nb\nc\n', edit('\n\nb\n', '\n')).text, 'a\nc\n');
    assert.equal(replaced('a\nb\nc\n', edit('\nb', '')).text, 'a\nc\n');
    assert.equal(replaced('\nb\nc\n', edit('\nb\n', '')).text, 'c\n');
  });

  describe('of line ends', () => {
    it('takes those of the file, and says so', () => {
      assert.deepEqual(replaced('a\r\nb\r\nc\r\n', edit('a\nb\n', 'x\ny\nz\n')), {
        ok: true,
        text: 'x\r\ny\r\nz\r\nc\r\n',
        lines: [1],
        adapted: 'crlf',
      });
      assert.deepEqual(replaced('a\nb\n', edit('a\r\nb', 'x\r\ny')), {
        ok: true,
        text: 'x\ny\n',
        lines: [1],
        adapted: 'lf',
      });
      assert.equal(replaced('a\r\n', edit('a\r\n', 'b\r\n')).adapted, undefined);
    });

    it('takes nothing for the other in a file that has both', () => {
      const mixed = 'a\r\nb\nc\r\n';
      assert.equal(replaced(mixed, edit('a\r\nb\n', 'x\n')).text, 'x\nc\r\n');
      const { reason, fact, actual } = refused(mixed, edit('a\nb\n', 'x\n'));
      assert.equal(reason, 'patch.stale');
      assert.match(fact, /both LF and CRLF/);
      assert.deepEqual(actual, { from: 1, to: 2, text: 'a\r\nb' });
    });

    it('takes CR LF apart in no file', () => {
      assert.equal(replaced('a\nb\r\nb\n', edit('\nb', '\nc')).text, 'a\nc\r\nb\n');
      assert.equal(refused('a\r\nb\n', edit('\nb', 'c')).reason, 'patch.stale');
      assert.equal(refused('a\r\nb\n', edit('a\r', 'c')).reason, 'patch.stale');
    });
  });

  it('leaves a byte order mark, and lets no second one in', () => {
    assert.equal(replaced('\uFEFFa\n', edit('a', 'b')).text, '\uFEFFb\n');
    assert.equal(replaced('\uFEFFa\n', edit('\uFEFFa', 'b')).text, 'b\n');
    assert.equal(refused('\uFEFFa\n', edit('a', '\uFEFFb')).reason, 'input.encoding');
  });

  describe('where the text is not there', () => {
    const FILE = 'def f():\n\tif x:\n\t\treturn 1\n\treturn 2\n';

    it('shows the lines of the file when only white space differs', () => {
      for (const old of [
        'if x:\n    return 1',
        '    if x:\n        return 1\n',
        'if  x:',
        'f (  ):\nif x:',
      ]) {
        const { reason, fact, actual, candidates } = refused(FILE, edit(old, 'y'));
        assert.equal(reason, 'patch.stale');
        assert.match(fact, /other white space, at line/);
        assert.ok(fact.endsWith(actual!.text), fact);
        assert.ok(FILE.includes(`${actual!.text}\n`), fact);
        assert.deepEqual(candidates, [actual!.from]);
      }
    });

    it('shows the place that is most like it', () => {
      const { fact, actual } = refused(FILE, edit('def f():\n\tif y:\n\t\treturn 1\n', 'y'));
      assert.deepEqual([actual!.from, actual!.to], [1, 3]);
      assert.match(fact, /most like it, lines 1–3, has:\ndef f\(\):\n\tif x:\n\t\treturn 1$/);
    });

    it('says when the new text is there, or nothing like it', () => {
      assert.match(refused('alpha beta gamma\n', edit('delta', 'alpha beta')).fact, /made already/);
      assert.match(refused('alpha\n', edit('}\n', 'x')).fact, /nothing like it was found/);
      assert.match(refused('', edit('x', 'y')).fact, /nothing like it/);
    });

    it('is not looked for in a large file', () => {
      const { fact, actual } = refused(' x y\n'.repeat(1_000_000), edit('x  y', 'z'));
      assert.deepEqual([actual, /nothing like it was found/.test(fact)], [undefined, true]);
    });

    it('shows only the beginning of what is long', () => {
      const { actual } = refused(`  ${'word '.repeat(5000)}`, edit('word  '.repeat(5000), 'x'));
      assert.ok(actual!.text.length < 4100 && actual!.text.endsWith('…'));
    });
  });

  it('property: the result is split and join, and every refusal leaves the count wrong', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\r\n', 'é'), maxLength: 6 });
    const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, piece, piece, fc.integer({ min: 1, max: 3 }), (file, old, fresh, count) => {
        const result = replaceText(file, [edit(old, fresh, count)]);
        const crlf = file.includes('\r\n');
        const lf = /(?:^|[^\r])\n/.test(file);
        const own = (part: string) =>
          crlf && lf
            ? part
            : crlf
              ? part.replace(/\r?\n/g, '\r\n')
              : lf
                ? part.replaceAll('\r\n', '\n')
                : part;
        if (result.ok) {
          assert.equal(result.lines.length, count);
          if (!crlf || !lf) assert.equal(result.text, file.split(own(old)).join(own(fresh)));
          for (const line of result.lines) assert.ok(line >= 1 && line <= file.split('\n').length);
          return;
        }
        const places = old === '' ? 0 : file.split(own(old)).length - 1;
        const certain = places === count && own(old) !== own(fresh) && !(crlf && lf);
        assert.ok(
          !certain || /overlap|end of the file|made already|become one/.test(result.fact),
          JSON.stringify([file, old, fresh, count, result]),
        );
      }),
      { numRuns: 1000 },
    );
  });
});
