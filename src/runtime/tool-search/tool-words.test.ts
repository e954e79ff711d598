import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { createWordReader, stem } from './tool-words.ts';

const wordsOf = createWordReader();

describe('the words of a text', () => {
  const ROWS: readonly (readonly [text: string, words: string])[] = [
    ['create_pull_request', 'creat pull request'],
    ['createPullRequest', 'creat pull request'],
    ['github.create-pull.request', 'github creat pull request'],
    ['parseHTTPUrl2', 'pars http url 2'],
    ['Search the files for a pattern', 'search file pattern'],
    ['Grüße, Crème brûlée!', 'gruß crem brule'],
    ['データ base64', 'データ base 64'],
    ['', ''],
    ['the of and', ''],
  ];
  for (const [text, words] of ROWS) {
    it(`of "${text}" are "${words}"`, () => assert.equal(wordsOf(text).join(' '), words));
  }

  it('are the same for the forms of a word', () => {
    for (const forms of [
      ['create', 'creates', 'created', 'creating'],
      ['search', 'searches', 'searched', 'searching'],
      ['repository', 'repositories'],
      ['file', 'files'],
      ['run', 'runs'],
      ['delete', 'deletes', 'deleted', 'deleting'],
      ['commit', 'commits', 'committed', 'committing'],
      ['status'],
      ['process', 'processed', 'processing'],
    ])
      assert.equal(new Set(forms.map(stem)).size, 1, forms.map(stem).join(' '));
  });

  it('never throw, and never hold a space', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const word of wordsOf(text)) assert.ok(word.length > 0 && !/\s/.test(word));
      }),
    );
  });
});
