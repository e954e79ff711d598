import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBudget, smallerBudget } from './session.ts';

const exhausted = { reason: 'budget.exhausted' };

describe('createBudget', () => {
  it('lets every call through where nothing is limited', () => {
    const budget = createBudget(() => ({}));
    for (let i = 0; i < 100; i++) budget.reserve();
    assert.deepEqual(budget.remaining, {});
  });
  it('counts calls under way, so that many at once cannot overdraw', () => {
    const budget = createBudget(() => ({ calls: 3 }));
    budget.reserve();
    budget.reserve();
    const giveBack = budget.reserve();
    assert.throws(() => budget.reserve(), exhausted);
    giveBack();
    budget.reserve();
  });
  it('gives a place back once, however often it is asked to', () => {
    const budget = createBudget(() => ({ calls: 2 }));
    const giveBack = budget.reserve();
    budget.reserve();
    giveBack();
    giveBack();
    budget.reserve();
    assert.throws(() => budget.reserve(), exhausted);
  });
  it('adopts totals that other processes used, and never older ones', () => {
    const budget = createBudget(() => ({ calls: 10, wallMs: 1000, bytes: 100 }));
    budget.adopt({ calls: 7, wallMs: 400, bytes: 60 });
    budget.adopt({ calls: 6, wallMs: 300, bytes: 50 });
    assert.deepEqual(budget.remaining, { calls: 3, wallMs: 600, bytes: 40 });
  });
  for (const [key, usage, more] of [
    ['wall_ms', { calls: 1, wallMs: 50, bytes: 0 }, 60_050],
    ['bytes', { calls: 1, wallMs: 0, bytes: 50 }, 1024 * 1024 + 50],
  ] as const) {
    it(`names the budget that ran out: ${key}`, () => {
      const budget = createBudget(() => ({ wallMs: 50, bytes: 50 }), {}, usage);
      const details = { budget: key, used: 50, limit: 50, admit: `budgets:\n  ${key}: ${more}\n` };
      assert.throws(() => budget.reserve(), { ...exhausted, details });
    });
    it(`names no line where the session itself has no more: ${key}`, () => {
      const own = { wallMs: 50, bytes: 50 };
      const budget = createBudget(() => own, own, usage);
      assert.throws(() => budget.reserve(), { ...exhausted, details: { budget: key, used: 50, limit: 50 } });
    });
  }
});

describe('smallerBudget', () => {
  it('takes the smaller of each and keeps what only one limits', () => {
    assert.deepEqual(smallerBudget({ calls: 5, bytes: 10 }, { calls: 7, wallMs: 3 }), {
      calls: 5,
      bytes: 10,
      wallMs: 3,
    });
  });
});
