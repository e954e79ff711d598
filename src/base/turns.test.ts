import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTurns } from './turns.ts';

describe('createTurns', () => {
  it('runs one piece after the other, also after one that failed', async () => {
    const inTurn = createTurns();
    const seen: string[] = [];
    const piece = (name: string, fails = false) =>
      inTurn(async () => {
        seen.push(`${name} begins`);
        await new Promise(setImmediate);
        seen.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      });
    const all = await Promise.allSettled([piece('a'), piece('b', true), piece('c')]);
    assert.deepEqual(
      all.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(seen, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  });
});
