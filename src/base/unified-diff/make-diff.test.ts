import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { applyFilePatch } from './apply-patch.ts';
import { makeUnifiedDiff } from './make-diff.ts';
import { parsePatch } from './parse-patch.ts';

async function roundTrip(before: string, after: string, options = {}): Promise<void> {
  const patch = await makeUnifiedDiff('x', 'x', before, after, options);
  if (before === after) return assert.equal(patch, '');
  const [file, ...rest] = parsePatch(patch);
  assert.equal(rest.length, 0);
  const result = applyFilePatch(before, file!, 'same');
  assert.deepEqual(result.ok ? result.text : result, after, patch);
}

/** Texts of few different lines with every kind of end, and pairs of texts that share most of them. */
const line = fc.tuple(
  fc.constantFrom(
    'a',
    'b',
    'c',
    '',
    ' ',
    '-- a/x',
    '++ b/x',
    '@@ -1 +1 @@',
    '\\ No newline',
    '\uFEFFd',
    'é\u2028',
    'f\r',
  ),
  fc.constantFrom('\n', '\n', '\r\n'),
);
const lines = fc.array(
  line.map(([text, end]) => text + end),
  { maxLength: 30 },
);
const tail = fc.constantFrom('', '', 'end', 'end\r', '-');
const edit = fc.record({
  at: fc.nat(30),
  remove: fc.nat(4),
  add: fc.array(
    line.map((pair) => pair.join('')),
    { maxLength: 4 },
  ),
});
const pair = fc
  .record({ lines, edits: fc.array(edit, { maxLength: 5 }), tails: fc.tuple(tail, tail) })
  .map((made) => {
    const edited = [...made.lines];
    for (const { at, remove, add } of made.edits) edited.splice(at, remove, ...add);
    return [made.lines.join('') + made.tails[0], edited.join('') + made.tails[1]] as const;
  });

describe('makeUnifiedDiff', () => {
  it('writes a change as git does', async () => {
    const before = Array.from({ length: 12 }, (_, i) => `${i + 1}\n`).join('');
    const patch = await makeUnifiedDiff(
      'd/x',
      'd/x',
      before,
      before.replace('2\n', 'two\n').replace('\n11', '\n11.5\n11'),
    );
    assert.equal(
      patch,
      'diff --git a/d/x b/d/x\n--- a/d/x\n+++ b/d/x\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n@@ -8,5 +8,6 @@\n 8\n 9\n 10\n+11.5\n 11\n 12\n',
    );
  });

  const headers: [
    title: string,
    before: string | null,
    after: string | null,
    texts: [string, string],
    patch: string,
  ][] = [
    [
      'a created file',
      null,
      'x',
      ['', 'a\n'],
      'diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n',
    ],
    [
      'a deleted file',
      'x',
      null,
      ['a', ''],
      'diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n',
    ],
    [
      'an empty created file',
      null,
      'x',
      ['', ''],
      'diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n',
    ],
    ['a rename alone', 'x', 'y z', ['a\n', 'a\n'], 'diff --git a/x b/y z\nrename from x\nrename to y z\n'],
    [
      'odd names',
      'ö',
      'y z',
      ['a\n', 'b\n'],
      'diff --git "a/\\303\\266" b/y z\nrename from "\\303\\266"\nrename to y z\n--- "a/\\303\\266"\n+++ b/y z\t\n@@ -1 +1 @@\n-a\n+b\n',
    ],
    ['hunks without a file', null, null, ['a\n', 'b\n'], '@@ -1 +1 @@\n-a\n+b\n'],
    ['nothing for equal texts', 'x', 'x', ['a\n', 'a\n'], ''],
  ];
  for (const [title, before, after, texts, patch] of headers) {
    it(`writes ${title}`, async () => {
      assert.equal(await makeUnifiedDiff(before, after, ...texts), patch);
      if (patch === '') return;
      const [file] = parsePatch(patch);
      assert.deepEqual([file?.pathBefore, file?.pathAfter], [before, after]);
      const result = applyFilePatch(texts[0], file!);
      assert.equal(result.ok && result.text, texts[1]);
    });
  }

  it('is undone by applyFilePatch for any two texts and any context', async () => {
    await fc.assert(
      fc.asyncProperty(pair, fc.nat(4), ([before, after], context) => roundTrip(before, after, { context })),
      { numRuns: 3000 },
    );
  });

  it('is undone by applyFilePatch when lines are not matched up', async () => {
    await fc.assert(fc.asyncProperty(pair, ([before, after]) => roundTrip(before, after, { maxBytes: 0 })));
  });

  it('is undone by applyFilePatch for bytes that are not UTF-8, decoded as latin1', async () => {
    const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array).toString('latin1'));
    await fc.assert(
      fc.asyncProperty(bytes, bytes, (before, after) => roundTrip(before, after)),
      { numRuns: 500 },
    );
  });

  it('finds the two changes of a file of 50,000 lines', async () => {
    const before = Array.from({ length: 50_000 }, (_, i) => `line ${i % 977} ${i}\n`);
    const after = before.with(100, 'new\n').toSpliced(40_000, 1);
    const patch = await makeUnifiedDiff('x', 'x', before.join(''), after.join(''));
    assert.equal(patch.split('\n').length, 3 + 9 + 8 + 1);
    await roundTrip(before.join(''), after.join(''));
  });

  it('matches up 2,000 scattered changes, which are over the limit of one search', async () => {
    const before = Array.from({ length: 20_000 }, (_, i) => `line ${i}\n`);
    const after = before.map((text, i) => (i % 10 === 0 ? `new ${text}` : text));
    const patch = await makeUnifiedDiff('x', 'x', before.join(''), after.join(''), { context: 0 });
    assert.equal(patch.match(/^[+-][ln]/gm)?.length, 4000);
    await roundTrip(before.join(''), after.join(''));
  });

  it('replaces what it cannot match up within its limits', async () => {
    const noise = (factor: number) =>
      Array.from({ length: 20_000 }, (_, i) => `${((i * factor) >> 3) % 13}\n`).join('');
    await roundTrip(`head\n${noise(7919)}tail\n`, `head\n${noise(104_729)}tail\n`);
    await roundTrip('x\n'.repeat(100_000), 'y\n'.repeat(100_000));
    await roundTrip('x'.repeat(8_000_000), 'y'.repeat(8_000_000));
  });
});

describe('a made diff still applies', () => {
  const distinct = fc
    .record({ count: fc.integer({ min: 1, max: 40 }), edits: fc.array(edit, { minLength: 1, maxLength: 4 }) })
    .map(({ count, edits }) => {
      const before = Array.from({ length: count }, (_, i) => `line ${i}\n`);
      const after = [...before];
      for (const [i, { at, remove, add }] of edits.entries()) {
        after.splice(at, remove, ...add.map((_, j) => `new ${i} ${j}\n`));
      }
      return [before.join(''), after.join('')] as const;
    })
    .filter(([before, after]) => before !== after);
  const patchOf = async ([before, after]: readonly [string, string], rewrite = (text: string) => text) =>
    parsePatch(rewrite(await makeUnifiedDiff('x', 'x', before, after)))[0]!;

  it('when the file moved down and each place is unique', async () => {
    await fc.assert(
      fc.asyncProperty(distinct, fc.nat(9), async (texts, shift) => {
        const above = Array.from({ length: shift }, (_, i) => `above ${i}\n`).join('');
        const patch = await patchOf(texts);
        const result = applyFilePatch(above + texts[0], patch);
        // What has no context, or next to none, is not moved.
        const known = patch.hunks.every(({ lines }) => {
          return lines.some(({ op }) => op === ' ') && lines.filter(({ op }) => op !== '+').length > 1;
        });
        if (!known && shift > 0) assert.ok(!result.ok);
        else assert.equal(result.ok ? result.text : result.message, above + texts[1]);
        if (result.ok) assert.ok(result.placed.every(({ offset }) => offset === shift));
      }),
    );
  });

  it('when its numbers or its headers are gone', async () => {
    const rewrites = [
      (text: string) => text.replaceAll(/^@@ -.*@@$/gm, '@@ @@'),
      (text: string) => text.replaceAll(/^@@ -.*@@$/gm, '@@'),
      (text: string) =>
        text.replaceAll(/^@@ -(\d+),?(\d*) .*@@$/gm, '@@ -$1,$2 @@ heading').replaceAll(',  @@', ' @@'),
      (text: string) => text.slice(text.indexOf('@@')),
      (text: string) => text.replaceAll('\n', '\r\n'),
      (text: string) => `Some words.\n\n\`\`\`diff\n${text}\`\`\`\n\n- more words\n`,
      (text: string) => (/\n\+.*\n$/.test(text) ? text : text.slice(0, -1)),
    ];
    await fc.assert(
      fc.asyncProperty(distinct, fc.constantFrom(...rewrites), async (texts, rewrite) => {
        const result = applyFilePatch(texts[0], await patchOf(texts, rewrite));
        assert.equal(result.ok ? result.text : result.message, texts[1]);
      }),
      { numRuns: 800 },
    );
  });

  it('when the file was converted to CRLF', async () => {
    const crlf = (text: string) => text.replaceAll('\n', '\r\n');
    await fc.assert(
      fc.asyncProperty(distinct, async (texts) => {
        const result = applyFilePatch(crlf(texts[0]), await patchOf(texts));
        assert.equal(result.ok ? result.text : result.message, crlf(texts[1]));
        const back = applyFilePatch(texts[0], await patchOf([crlf(texts[0]), crlf(texts[1])]));
        assert.equal(back.ok ? back.text : back.message, texts[1]);
      }),
    );
  });
});
