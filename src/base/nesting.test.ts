import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isNestedDeeper } from './nesting.ts';

const lists = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

describe('isNestedDeeper', () => {
  it('counts arrays and objects, and nothing else', () => {
    assert.equal(isNestedDeeper('x', 0), false);
    assert.equal(isNestedDeeper(null, 0), false);
    assert.equal(isNestedDeeper([], 0), true);
    assert.equal(isNestedDeeper({ a: [1] }, 2), false);
    assert.equal(isNestedDeeper([1, { a: [1] }], 2), true);
    assert.equal(isNestedDeeper(lists(64)), false);
    assert.equal(isNestedDeeper(lists(65)), true);
  });

  it('comes back from what nobody else would', () => {
    assert.equal(isNestedDeeper(lists(1_000_000)), true);
    const circle: unknown[] = [];
    circle.push(circle, circle);
    assert.equal(isNestedDeeper(circle), true);
  });
});
