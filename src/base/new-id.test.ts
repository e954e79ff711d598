import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from './new-id.ts';

describe('newId', () => {
  it('gives 20 letters or digits after the prefix', () => {
    assert.match(newId('call'), /^call_[0-9a-v]{20}$/);
  });
  it('gives no name twice in 200,000', () => {
    const seen = new Set(Array.from({ length: 200_000 }, () => newId('x')));
    assert.equal(seen.size, 200_000);
  });
  it('uses every letter of its alphabet about equally', () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 10_000; i++)
      for (const c of newId('x').slice(2)) counts.set(c, (counts.get(c) ?? 0) + 1);
    assert.equal(counts.size, 32);
    for (const n of counts.values()) assert.ok(n > 5000 && n < 7500, `${n}`);
  });
});
