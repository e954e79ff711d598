// Owns: that a shell gives back exactly the words that were written for it.
// Refuses: to reason about quoting; the shell that slots use is asked.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from '../../../../test/support/properties.ts';
import { shWords } from './sh-word.ts';

describe('shWords', () => {
  it('survives a shell, whatever the text', () => {
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
});
