import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import fc from '../../test/support/properties.ts';
import { packWords } from './pack-words.ts';

describe('packWords', () => {
  it('finds every path in the packs of a haft.yaml, and none of its other sections', () => {
    const yaml =
      "version: 1\npacks: [\"packs\", ./own, 'it''s', {mcp: {command: [node, srv/hub.mjs]}}]\npaths:\n  rules:\n    - path: src\n";
    const words = packWords(yaml) ?? [];
    for (const word of ['packs', './own', "it's", 'srv/hub.mjs']) assert.ok(words.includes(word), word);
    assert.ok(!words.includes('src'));
    const block =
      packWords(
        'packs:\n- a b # why\n-   "c"\n- mcp:\n    command: [x/y]\n    url: https://h:1/p\nother: [z]\n',
      ) ?? [];
    for (const word of ['a b', 'c', 'x/y', 'https://h:1/p']) assert.ok(block.includes(word), word);
    assert.ok(!block.includes('z'));
    assert.deepEqual(packWords('packs: [é, 語]\n'), ['packs', 'é', '語']);
    assert.deepEqual(packWords('packs: [\n  a,\n  "b", # c\n]\r\nversion: 1\r\n'), ['packs', 'a', 'b']);
  });

  it('takes every word where the text is laid out in another way', () => {
    for (const odd of ['{"version": 1, "packs": ["p"]}', '"packs": [p]\n', '--- {packs: [p]}\n'])
      assert.ok(packWords(odd)?.includes('p') ?? true, odd);
  });

  it('says that it cannot tell where only a parser could', () => {
    for (const packs of [
      '["p\\x33"]',
      '[*a]',
      '[&a p]',
      '["\\u0070\\\n  5"]',
      '[!!str p]',
      '\n- |\n  p',
      '\n- >-\n  p',
      '\n- p\n  q',
      '[p\n  q]',
      '["p\n  q"]',
      "['p\n  q']",
      '\n- a,b',
      '\n- a[b]',
      '\n- p#q',
      '\n- p}',
      '\n- "p" q',
      '\n- ? p',
      '\n- `p',
      '\n- <<: *x',
    ])
      assert.equal(packWords(`shell_allow: [&a p4]\npacks: ${packs}\n`), undefined, packs);
    assert.equal(packWords('<<: *x\npacks: [p]\n'), undefined);
    assert.equal(packWords('? packs\n: [p]\n'), undefined);
  });

  it('finds none where there are none', () => {
    assert.deepEqual(packWords('version: 1\nshell_allow: ["^a\\\\s", &x b, *x]\n'), []);
    assert.deepEqual(packWords(''), []);
  });

  it('misses no text that YAML finds there', () => {
    const piece = fc.constantFrom(
      ...[
        'p',
        'q2',
        './a',
        'a b',
        '-',
        '- ',
        ' ',
        '  ',
        '\n',
        '\n- ',
        '\n  ',
        ',',
        ', ',
        '[',
        ']',
        '{',
        '}',
        ': ',
        ':',
      ],
      ...[
        '"',
        "'",
        "''",
        '\\',
        '\\n',
        '#',
        ' #',
        '&a ',
        '*a',
        '!!str ',
        '|',
        '>',
        '?',
        '%',
        '@',
        '`',
        '\t',
        '\r\n',
        '\r',
        'é',
        '---\n',
        'k: ',
      ],
    );
    fc.assert(
      fc.property(
        fc.constantFrom('packs: ', 'packs:\n- ', 'packs: [', '{packs: ', ''),
        fc.array(piece, { maxLength: 12 }),
        (start, rest) => {
          const text = `${start}${rest.join('')}`;
          const words = packWords(`a: &a p9\n${text}`);
          if (words === undefined) return;
          let parsed: unknown;
          try {
            parsed = parse(`a: &a p9\n${text}`, { logLevel: 'silent' });
          } catch {
            return;
          }
          const { packs } = (parsed ?? {}) as { packs?: unknown };
          for (const found of textsIn(packs)) assert.ok(words.includes(found), JSON.stringify([text, found]));
        },
      ),
      { numRuns: 20_000 },
    );
  });
});

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [
    ...(Array.isArray(value) || key === '' ? [] : [key]),
    ...textsIn(one),
  ]);
}
