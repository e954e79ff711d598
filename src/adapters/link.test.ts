// Owns: when a link opens, sleeps and is looked at.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fail } from '../contract/errors.ts';
import { stillPace } from './fixtures-for-tests.ts';
import { createLink, type Linked } from './link.ts';

const NEVER = new AbortController().signal;

interface Side extends Linked {
  gone: boolean;
  closed: boolean;
}

function bench(options: { readonly idleMs?: number } = {}) {
  const made: Side[] = [];
  const scheduler = stillPace();
  const side = { broken: false };
  const link = createLink<Side>({
    name: 'side',
    scheduler,
    breaker: { failures: 2, restMs: 1000 },
    async connect() {
      if (side.broken) throw fail('call.outcome_unknown', 'no answer');
      const one: Side = {
        gone: false,
        closed: false,
        async close() {
          one.closed = true;
        },
      };
      made.push(one);
      return one;
    },
    ...options,
  });
  return { link, made, scheduler, side };
}

describe('createLink', () => {
  it('sleeps until somebody needs it, and is awake from then on, also while it is lost', async () => {
    const { link, made, side } = bench();
    assert.equal(link.asleep, true);
    await link.open(NEVER);
    assert.equal(link.asleep, false);
    made[0]!.gone = true;
    side.broken = true;
    await assert.rejects(link.open(NEVER), { reason: 'tool.unhealthy' });
    assert.equal(link.asleep, false);
    await link.close();
  });

  it('is looked at also while it is left alone', async () => {
    const { link, side } = bench();
    side.broken = true;
    for (const _ of [1, 2]) await assert.rejects(link.open(NEVER), /no answer/);
    side.broken = false;
    await assert.rejects(link.open(NEVER), /left alone/);
    assert.equal((await link.open(NEVER, true)).gone, false);
    await link.close();
  });

  it('goes to sleep when nobody used it, however often it was looked at', async () => {
    const { link, made, scheduler } = bench({ idleMs: 50 });
    await link.hold(() => link.open(NEVER));
    scheduler.advance(49);
    await link.hold(() => link.open(NEVER, true), true);
    // What is left of its time is a millisecond of real time.
    while (!made[0]!.closed) await new Promise(setImmediate);
    assert.deepEqual([link.asleep, made.length], [true, 1]);
    await link.close();
  });
});
