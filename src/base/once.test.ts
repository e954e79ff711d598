import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lazyMethods } from './once.ts';

interface Counter {
  add(by: number): Promise<number>;
  fail(): Promise<never>;
}

function lazyCounter(): { readonly counter: Counter; loads(): number } {
  let loads = 0;
  const counter = lazyMethods<Counter>({ add: true, fail: true }, async () => {
    loads++;
    let sum = 0;
    return {
      async add(by) {
        sum = sum * 10 + by;
        return sum;
      },
      fail: () => Promise.reject(new Error('as asked')),
    };
  });
  return { counter, loads: () => loads };
}

describe('lazyMethods', () => {
  it('loads nothing before the first call, and once for all of them', async () => {
    const { counter, loads } = lazyCounter();
    assert.equal(loads(), 0);
    await counter.add(1);
    await counter.add(2);
    assert.equal(loads(), 1);
  });

  it('makes calls in the order in which they were asked for', async () => {
    const { counter } = lazyCounter();
    assert.deepEqual(await Promise.all([counter.add(1), counter.add(2), counter.add(3)]), [1, 12, 123]);
  });

  it('answers with what the method rejects with', async () => {
    await assert.rejects(lazyCounter().counter.fail(), /as asked/);
  });
});
