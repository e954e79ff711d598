import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fail } from '../contract/errors.ts';
import { isUnsent } from './attempts.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import { stillPace } from './fixtures-for-tests.ts';

describe('createCircuitBreaker', () => {
  const broken = () => Promise.reject(fail('http.failed', 'refused'));
  const works = async () => 'fine';

  it('refuses at once after so many failures in a row, and says that nothing was sent', async () => {
    const breaker = createCircuitBreaker('x', { failures: 2, restMs: 100 }, stillPace());
    await assert.rejects(breaker.guard(broken), { reason: 'http.failed' });
    assert.equal(await breaker.guard(works), 'fine');
    for (const _ of [1, 2]) await assert.rejects(breaker.guard(broken), { reason: 'http.failed' });
    assert.equal(breaker.state, 'open');
    const refusal = await breaker.guard(works).catch((thrown) => thrown);
    assert.deepEqual([refusal.reason, isUnsent(refusal)], ['tool.unhealthy', true]);
    assert.match(refusal.message, /refused/);
  });

  it('lets one call try after a rest, and closes or rests again by what became of it', async () => {
    const scheduler = stillPace();
    const breaker = createCircuitBreaker('x', { failures: 1, restMs: 100 }, scheduler);
    await assert.rejects(breaker.guard(broken));
    scheduler.advance(100);
    assert.equal(breaker.state, 'half_open');
    const trial = Promise.withResolvers<string>();
    const trying = breaker.guard(() => trial.promise);
    await assert.rejects(breaker.guard(works), { reason: 'tool.unhealthy' });
    trial.reject(fail('http.failed', 'still'));
    await assert.rejects(trying);
    assert.equal(breaker.state, 'open');
    scheduler.advance(100);
    assert.equal(await breaker.guard(works), 'fine');
    assert.equal(breaker.state, 'closed');
  });

  it('lets a look through at any time, and closes when it succeeds', async () => {
    const breaker = createCircuitBreaker('x', { failures: 1, restMs: 100 }, stillPace());
    await assert.rejects(breaker.guard(broken));
    assert.equal(breaker.state, 'open');
    await assert.rejects(breaker.guard(broken, undefined, true), { reason: 'http.failed' });
    assert.equal(await breaker.guard(works, undefined, true), 'fine');
    assert.equal(breaker.state, 'closed');
  });

  it('counts only what it is told to count', async () => {
    const breaker = createCircuitBreaker('x', { failures: 1, restMs: 100 }, stillPace());
    await assert.rejects(breaker.guard(broken, () => false));
    assert.equal(breaker.state, 'closed');
  });
});
