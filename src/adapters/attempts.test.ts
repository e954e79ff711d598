import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fail } from '../contract/errors.ts';
import {
  type AttemptOptions,
  attempt,
  createCircuitBreaker,
  isUnsent,
  type RetryPlan,
  SEND_ONCE,
  unsent,
} from './attempts.ts';
import { stillPace } from './fixtures-for-tests.ts';

const PLAN: RetryPlan = { attempts: 4, delayMs: 100, maxDelayMs: 250, factor: 2 };
const never = new AbortController().signal;

async function attempts(thrown: unknown, options: Partial<AttemptOptions> = {}, random = 0.5) {
  const scheduler = stillPace(random);
  let sent = 0;
  const send = async () => {
    sent++;
    throw thrown;
  };
  const all = { plan: PLAN, idempotent: false, signal: never, scheduler, ...options };
  const last = await attempt(send, all).catch((error) => error);
  assert.equal(last, thrown);
  return { sent, slept: scheduler.slept };
}

describe('attempt', () => {
  const lost = fail('call.outcome_unknown', 'lost');

  it('sends again what provably did not leave, whatever it does', async () => {
    assert.equal((await attempts(unsent('tool.unhealthy', 'refused'))).sent, 4);
    assert.equal((await attempts(unsent('tool.unhealthy', 'refused'), { plan: SEND_ONCE })).sent, 1);
  });

  it('sends again what may have left only where it is idempotent', async () => {
    assert.equal((await attempts(lost)).sent, 1);
    assert.equal((await attempts(lost, { idempotent: true })).sent, 4);
    assert.equal((await attempts(fail('http.failed', 'lost'), { idempotent: true })).sent, 4);
  });

  it('sends nothing again that would end the same way', async () => {
    for (const thrown of [fail('policy.denied', 'no'), fail('output.too_large', 'no'), new Error('a bug')])
      assert.equal((await attempts(thrown, { idempotent: true })).sent, 1);
  });

  it('waits longer each time, never longer than the most, and by chance', async () => {
    const options = { idempotent: true };
    assert.deepEqual((await attempts(lost, options, 0)).slept, [50, 100, 125]);
    assert.deepEqual((await attempts(lost, options, 0.999999)).slept.map(Math.round), [100, 200, 250]);
  });

  it('answers what the first good attempt answered', async () => {
    const send = async (n: number) => (n < 3 ? Promise.reject(lost) : `attempt ${n}`);
    const options = { plan: PLAN, idempotent: true, signal: never, scheduler: stillPace() };
    assert.equal(await attempt(send, options), 'attempt 3');
  });

  it('ends with the reason of the signal, before and between attempts', async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    let sent = 0;
    const send = async () => {
      sent++;
      controller.abort(reason);
      throw lost;
    };
    const options = { plan: PLAN, idempotent: true, signal: controller.signal, scheduler: stillPace() };
    await assert.rejects(attempt(send, options), (thrown) => thrown === reason);
    await assert.rejects(attempt(send, options), (thrown) => thrown === reason);
    assert.equal(sent, 1);
  });
});

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
