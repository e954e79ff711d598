import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Discovery } from '../../adapters/server-adapter.ts';
import { fail } from '../../contract/errors.ts';
import { createAbsentServer, type LastAbsence } from './follow-server.ts';

const NEVER = new AbortController().signal;
const NOTHING: Discovery = { tools: [], problems: [] };

function bench(last?: LastAbsence) {
  const kept: (LastAbsence | undefined)[] = [];
  let looks = 0;
  let answer = Promise.withResolvers<Discovery>();
  const told: Discovery[] = [];
  const absent = createAbsentServer({
    name: 'hub',
    look() {
      looks++;
      return answer.promise;
    },
    told: async (found) => void told.push(found),
    signal: NEVER,
    living: false,
    last,
    keep: (one) => void kept.push(one),
    onWarning() {},
  });
  return {
    absent,
    kept,
    told,
    looks: () => looks,
    settle: (with_: Discovery | Error) => {
      const { resolve, reject } = answer;
      answer = Promise.withResolvers();
      if (with_ instanceof Error) reject(with_);
      else resolve(with_);
    },
  };
}

describe('createAbsentServer', () => {
  it('asks nobody by itself, and once for all that wait', async () => {
    const { absent, looks, settle, told } = bench();
    assert.deepEqual([looks(), absent.known, absent.isRecent], [0, false, false]);
    const both = [absent.ask(NEVER), absent.ask(NEVER)];
    settle(NOTHING);
    await Promise.all(both);
    await absent.ask(NEVER);
    assert.deepEqual([looks(), told.length, absent.known], [1, 1, true]);
  });

  it('rejects with why it is not there, keeps that, and does not ask at once again', async () => {
    const { absent, looks, settle, kept } = bench();
    const asked = absent.ask(NEVER);
    settle(fail('tool.unhealthy', 'Cannot reach "hub": no key', { stderr: 'no key' }));
    await assert.rejects(asked, { reason: 'tool.unhealthy', message: /no key/ });
    assert.equal(absent.isRecent, true);
    assert.equal(kept[0]?.message, 'Cannot reach "hub": no key');
    await assert.rejects(absent.ask(NEVER), { reason: 'tool.unhealthy', message: /no key/ });
    assert.equal(looks(), 1);
  });

  it('lets whoever gives up go, and tells the next that it was slow', async () => {
    const { absent, settle } = bench();
    const given = new AbortController();
    const asked = absent.ask(given.signal);
    given.abort(new Error('enough'));
    await assert.rejects(asked, /enough/);
    absent.slow(5000);
    assert.match(absent.last?.message ?? '', /did not answer within 5000 ms/);
    settle(NOTHING);
    await absent.ask(NEVER);
    assert.deepEqual([absent.known, absent.last], [true, undefined]);
  });

  it('remembers what another process saw, but not for ever', () => {
    assert.equal(bench({ message: 'x', at: Date.now() }).absent.isRecent, true);
    assert.equal(bench({ message: 'x', at: Date.now() - 3_600_000 }).absent.isRecent, false);
  });

  it('takes words that are no failure of ours for one', async () => {
    const { absent, settle } = bench();
    const asked = absent.ask(NEVER);
    settle(new Error('boom'));
    await assert.rejects(asked, { reason: 'tool.unhealthy', message: 'Cannot reach "hub": boom' });
  });
});
