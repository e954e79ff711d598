import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTurns, waitTurn } from './turns.ts';

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

describe('waitTurn', () => {
  it('lets those in line go on in their order', async () => {
    const line: (() => void)[] = [];
    const done: number[] = [];
    const { signal } = new AbortController();
    const all = [1, 2].map((n) => waitTurn(line, signal).then(() => done.push(n)));
    line.shift()?.();
    line.shift()?.();
    await Promise.all(all);
    assert.deepEqual([done, line], [[1, 2], []]);
  });

  it('leaves the line when the wait is given up', async () => {
    const line: (() => void)[] = [];
    const controller = new AbortController();
    const wait = waitTurn(line, controller.signal);
    const reason = new Error('enough');
    controller.abort(reason);
    await assert.rejects(wait, reason);
    assert.deepEqual(line, []);
    await assert.rejects(waitTurn(line, controller.signal), reason);
  });
});
