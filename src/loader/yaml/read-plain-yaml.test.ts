// Owns: that the fast reader, wherever it answers at all, answers what the reader with places does.
// Refuses: what is wrong with a text; that is for the other reader.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import fc from '../../../test/support/properties.ts';
import { toPlain } from './located.ts';
import { parseYaml } from './parse-yaml.ts';
import { readPlainYaml } from './read-plain-yaml.ts';
import { createReport } from './report.ts';

async function readWithPlaces(text: string): Promise<{ readonly value: unknown; readonly fine: boolean }> {
  const report = createReport('x.yaml');
  const located = await parseYaml(text, report);
  return { value: located && toPlain(located), fine: report.diagnostics().length === 0 };
}

const TEXT = `# A manifest, and what people write in one.
id: demo.tool
version: 1.10.2
count: 42
ratio: -1.5 # with a comment
empty:
nothing: ~
truth: true
"quoted key": "with \\"escapes\\" and \\n"
'single': 'it''s'
url: http://example.org/#fragment
list:
- left
- right: 1
  more: [a, "b", 3, {c: d}]
-
  below: x
flow: {a: 1, "b": [true, null],
  c: 'd'}
literal: |
  one
    two

  three
folded: >-
  four
  five

  six
last: end
`;

describe('readPlainYaml', () => {
  it('reads what people write', async () => {
    const { value, fine } = await readWithPlaces(TEXT);
    assert.ok(fine);
    assert.deepEqual(readPlainYaml(TEXT), value);
    assert.equal((value as { literal: string }).literal, 'one\n  two\n\nthree\n');
    assert.deepEqual(readPlainYaml(TEXT.replaceAll('\n', '\r\n')), value);
  });

  for (const [what, text] of Object.entries({
    'an alias': 'a: &x 1\nb: *x\n',
    'a tag': 'a: !!str 1\n',
    'a merge key': 'a:\n  <<: {}\n',
    'two equal keys': 'a: 1\na: 2\n',
    'a tab': 'a:\t1\n',
    'a document marker': '---\na: 1\n',
    'a directive': '%YAML 1.2\n---\na: 1\n',
    'a text over two lines': 'a: one\n  two\n',
    'an odd number': 'a: 0x1F\n',
    'not a number': 'a: .nan\n',
    'a key named __proto__': '__proto__: 1\n',
    'a list in a list on one line': '- - a\n',
    'a mistake': 'a: [1\n',
    nothing: '',
    'a text that is no map': 'hello\n',
    'brackets nested too deeply': `a: ${'['.repeat(100)}${']'.repeat(100)}\n`,
    'maps nested too deeply': Array.from({ length: 100 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
  })) {
    it(`leaves ${what} to the other reader`, () => assert.equal(readPlainYaml(text), undefined));
  }

  it('reads any value that the YAML library writes as that library reads it, or leaves it', async () => {
    const key = fc.oneof(
      fc.constantFrom('id', 'type', '$ref', 'a.b', 'x-y', '12', 'true', 'null'),
      fc.string({ maxLength: 6 }),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(
          null,
          true,
          0,
          -1,
          1.5,
          1e21,
          '',
          'yes',
          '1.2.3',
          '- a',
          'a: b',
          'a #b',
          'http://x',
          "it's",
          'a\nb\n',
          '  x',
        ),
        fc.string({ maxLength: 20 }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      ),
    }));
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, value, { minKeys: 1, maxKeys: 4 }), async (written) => {
        const text = stringify(written);
        const fast = readPlainYaml(text);
        if (fast === undefined) return;
        taken++;
        const slow = await readWithPlaces(text);
        assert.ok(slow.fine, text);
        assert.deepEqual(fast, slow.value, text);
      }),
      { numRuns: 1000 },
    );
    assert.ok(taken > 100, `only ${taken} were read`);
  });

  it('agrees with the other reader about 4,000 broken texts, wherever it answers', async () => {
    const piece = fc.constantFrom(
      '\t',
      '"',
      "'",
      '*',
      '&a ',
      '!x ',
      '{',
      '}',
      '[',
      ']',
      ': ',
      ':',
      '- ',
      '-',
      '\n',
      '\n\n',
      '---\n',
      '#',
      ' #',
      '|',
      '>',
      '|\n',
      '|-\n',
      '>2\n',
      '? ',
      '%',
      '~',
      '1e3',
      '0o7',
      '012',
      '.5',
      '-0',
      '  ',
      ' ',
      'Yes',
      'a: b',
      '\r',
      '<<: ',
      '@',
      ',',
      '""',
      'k : 1',
      '{a}',
      '[a: b]',
      '[a,]',
      'a:b',
      '12:30',
      '"a" b',
      'x:\n- a\n',
    );
    const edit = fc.record({
      at: fc.nat(TEXT.length),
      cut: fc.constantFrom(0, 0, 1, 3, 20),
      put: fc.oneof(piece, fc.constant('')),
    });
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
        const text = edits.reduce(
          (whole, { at, cut, put }) => whole.slice(0, at) + put + whole.slice(at + cut),
          TEXT,
        );
        const fast = readPlainYaml(text);
        if (fast === undefined) return;
        taken++;
        const slow = await readWithPlaces(text);
        assert.ok(slow.fine && isDeepStrictEqual(fast, slow.value), JSON.stringify(text));
      }),
      { numRuns: 4000, seed: 20_260 },
    );
    assert.ok(taken > 1000, `only ${taken} were read`);
  });
});
