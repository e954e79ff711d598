import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitTurn } from './wait-turn.ts';

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
