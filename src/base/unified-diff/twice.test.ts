import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTwoFilesPatch } from 'diff';
import fc from '../../../test/support/properties.ts';
import { applyFilePatch } from './apply-patch.ts';
import { parsePatch } from './parse-patch.ts';

describe('applyFilePatch', () => {
  it('applies no change a second time, however much the lines repeat', () => {
    const line = fc.constantFrom('a', 'b', 'retry()', '', '}');
    const change = fc.record({
      lines: fc.array(line, { minLength: 1, maxLength: 14 }),
      at: fc.nat(13),
      remove: fc.nat(2),
      add: fc.array(line, { maxLength: 2 }),
      context: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(change, ({ lines, at, remove, add, context }) => {
        const text = (all: readonly string[]) => all.map((one) => `${one}\n`).join('');
        const old = text(lines);
        const fresh = text(lines.toSpliced(at % lines.length, remove, ...add));
        if (old === fresh || fresh === '') return;
        const [patch] = parsePatch(createTwoFilesPatch('f', 'f', old, fresh, '', '', { context }));
        const once = applyFilePatch(old, patch!);
        if (!once.ok) return;
        assert.equal(once.text, fresh);
        const twice = applyFilePatch(fresh, patch!);
        assert.equal(twice.ok, false, JSON.stringify([old, fresh, twice]));
      }),
      { numRuns: 20_000 },
    );
  });
});
