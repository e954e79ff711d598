import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { quotePath, unquotePath } from './quote-path.ts';

describe('quotePath', () => {
  const cases: [path: string, quoted: string][] = [
    ['a/plain.txt', 'a/plain.txt'],
    ['a/two words', 'a/two words'],
    ['a/föö', '"a/f\\303\\266\\303\\266"'],
    ['a/tab\there', '"a/tab\\there"'],
    ['a/say "hi"', '"a/say \\"hi\\""'],
    ['a/back\\slash', '"a/back\\\\slash"'],
    ['a/bell\u0007del\u007f', '"a/bell\\adel\\177"'],
    ['a/🦀', '"a/\\360\\237\\246\\200"'],
  ];
  for (const [path, quoted] of cases) {
    it(`writes ${JSON.stringify(path)} as git does`, () => assert.equal(quotePath(path), quoted));
  }

  it('is undone by unquotePath for every path', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (path) => {
        const quoted = quotePath(path);
        assert.equal(quoted.startsWith('"') ? unquotePath(quoted)?.path : quoted, path);
      }),
    );
  });
});

describe('unquotePath', () => {
  it('reads bytes that are not UTF-8 as latin1', () => {
    assert.deepEqual(unquotePath('"a/\\377x" rest'), { path: 'a/\u00ffx', end: 9 });
  });

  it('reads characters that git left bare under core.quotePath=false', () => {
    assert.equal(unquotePath('"a/ö\\t🦀"')?.path, 'a/ö\t🦀');
  });

  for (const bad of ['bare', '"open', '"bad \\q"', '"bad \\9"', '"ends \\']) {
    it(`refuses ${bad}`, () => assert.equal(unquotePath(bad), undefined));
  }
});
