// Owns: that a quoted value is read back as itself by a real bash.
// Refuses: values with NUL, which no argument can hold.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { quoteCommandWord, shellQuote, shWord, shWords } from './shell-quote.ts';

describe('shellQuote', () => {
  it('is read back by bash as the same value, on one line', () => {
    const value = fc
      .string({ unit: 'binary', maxLength: 20 })
      .map((text) => text.replaceAll('\0', '').toWellFormed());
    fc.assert(
      fc.property(fc.array(value, { minLength: 50, maxLength: 80 }), (values) => {
        const quoted = ["''", '~', 'a~', '~a', 'a=~', '{}', '[', 'a:~b', '-n', ...values].map((each) =>
          shellQuote(each),
        );
        const line = `printf '%s\\0' ${quoted.join(' ')}`;
        assert.doesNotMatch(line, /[\n\r]/);
        const { stdout } = spawnSync('/bin/bash', ['-c', line], {
          env: { LC_ALL: 'C.UTF-8', HOME: '/h', PATH: '/none' },
        });
        const read = String(stdout).split('\0').slice(0, -1);
        assert.deepEqual(read.slice(9), values);
      }),
      { numRuns: 10 },
    );
  });

  it('leaves plain words as they are', () => {
    for (const word of [
      'cargo',
      'a/b.rs',
      '--k=v',
      'HEAD~1',
      'HEAD^',
      '[',
      '{}',
      'a@b',
      'x:y',
      '1,2',
      'a%b+c',
    ])
      assert.equal(shellQuote(word), word);
  });

  it('quotes what would be an assignment or a keyword in front', () => {
    assert.equal(quoteCommandWord('a=b'), "'a=b'");
    assert.equal(quoteCommandWord('if'), "'if'");
    assert.equal(quoteCommandWord('ls'), 'ls');
    assert.equal(shellQuote('if'), 'if');
  });
});

describe('shWords', () => {
  it('is read back by sh as the same values, whatever the text', () => {
    const word = fc.string({
      unit: fc.oneof(
        fc.constantFrom(...'\'"\\$`\n\t ;&|<>()*?~#!={}[]-'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      ),
    });
    const usable = word.filter((text) => !text.includes('\0') && text.isWellFormed());
    fc.assert(
      fc.property(fc.array(usable, { minLength: 1, maxLength: 8 }), (words) => {
        const out = execFileSync('/bin/sh', ['-s'], { input: `printf '%s\\0' ${shWords(words)}\n` });
        assert.deepEqual(out.toString('utf8').split('\0').slice(0, -1), words);
      }),
      { numRuns: 150 },
    );
  });

  it('quotes what would be an assignment in front', () => assert.equal(shWord('a=b'), "'a=b'"));

  it('refuses NUL', () => assert.throws(() => shWord('a\0b'), /NUL/));
});
