import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { packWords } from './pack-words.ts';

describe('packWords', () => {
  it('finds every path in the packs of a haft.yaml, and none of its other sections', () => {
    const yaml =
      "version: 1\npacks: [\"packs\", ./own, 'it''s', {mcp: {command: [node, srv/hub.mjs]}}]\npaths:\n  rules:\n    - path: src\n";
    const words = packWords(yaml);
    for (const word of ['packs', './own', "it's", 'srv/hub.mjs']) assert.ok(words.includes(word), word);
    assert.ok(!words.includes('src'));
    const block = packWords('packs:\n- a b # why\n-   "c"\n- mcp:\n    command: [x/y]\nother: [z]\n');
    for (const word of ['a b', 'c', 'x/y']) assert.ok(block.includes(word), word);
    assert.ok(!block.includes('z'));
  });

  it('takes every word where the text is laid out in another way', () => {
    for (const odd of [
      '{"version": 1, "packs": ["p"]}',
      '"packs": [p]\n',
      '? packs\n: [p]\n',
      '--- {packs: [p]}\n',
    ])
      assert.ok(packWords(odd).includes('p'), odd);
  });

  it('finds none where there are none', () => {
    assert.deepEqual(packWords('version: 1\nshell_allow: [^a]\n'), []);
    assert.deepEqual(packWords(''), []);
  });
});
