import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fail } from '../../contract/errors.ts';
import type { HealthWays } from '../../contract/health.ts';
import type { HealthReport } from '../../contract/manifest.ts';
import { createEventBus } from '../record.ts';
import {
  createHealthMonitor,
  type HealthMemory,
  REMEMBERED_MS,
  type Remembered,
  systemTiming,
} from './create-health-monitor.ts';
import { monitorBench, NEVER, PLAN } from './monitor-for-tests.ts';

describe('a health monitor', () => {
  it('says unverified before the first look, and what it saw after it', async () => {
    const { monitor, side } = monitorBench();
    monitor.watch(side.subject());
    assert.deepEqual(monitor.report('side'), { status: 'unverified', checkedTs: null });
    assert.deepEqual(await monitor.look('side', NEVER), { status: 'ready', checkedTs: 5000 });
    assert.equal(monitor.report('other'), undefined);
    await assert.rejects(monitor.look('other', NEVER), { reason: 'pack.unknown' });
  });

  it('looks in intervals once it is started, spread by chance, and never twice at once', async () => {
    const { monitor, side, timing } = monitorBench({ random: () => 0.75 });
    monitor.watch(side.subject());
    await timing.run(10_000);
    assert.equal(side.looks, 0);
    monitor.start();
    monitor.start();
    assert.equal(timing.pending, 1);
    await timing.run(1049);
    assert.equal(side.looks, 0);
    await timing.run(1);
    assert.equal(side.looks, 1);
    await timing.run(10 * 1050);
    assert.equal(side.looks, 11);
    side.answer = () => new Promise(() => {});
    const [one, two] = [monitor.look('side', NEVER), monitor.look('side', NEVER)];
    await timing.run(100);
    assert.equal(side.looks, 12);
    assert.deepEqual(await one, await two);
    await monitor.close();
    assert.equal(timing.pending, 0);
  });

  it('takes one look that somebody asked for as its word, for calls as well', async () => {
    const { monitor, side } = monitorBench();
    monitor.watch(side.subject({ failureThreshold: 3, successThreshold: 3 }));
    side.answer = async () => ({ status: 'unhealthy', checkedTs: null, message: 'gone' });
    assert.equal((await monitor.look('side', NEVER)).status, 'degraded');
    assert.equal((await monitor.look('side', NEVER, true)).status, 'unhealthy');
    assert.deepEqual(
      [monitor.report('side')?.status, monitor.report('side')?.message],
      ['unhealthy', 'gone'],
    );
    assert.throws(() => monitor.admit('side', () => NEVER), { reason: 'tool.unhealthy' });
    side.answer = async () => ({ status: 'ready', checkedTs: null });
    assert.equal((await monitor.look('side', NEVER, true)).status, 'ready');
    assert.equal(
      monitor.admit('side', () => NEVER),
      undefined,
    );
    await monitor.close();
  });

  it('goes from ready over degraded to unhealthy and back, and tells of each change once', async () => {
    const { monitor, side, events } = monitorBench();
    monitor.watch(side.subject({ successThreshold: 2 }));
    const seen: string[] = [];
    for (const status of [
      'ready',
      'ready',
      'unhealthy',
      'unhealthy',
      'unhealthy',
      'ready',
      'ready',
    ] as const) {
      side.answer = async () => ({ status, checkedTs: null, message: `it is ${status}` });
      seen.push((await monitor.look('side', NEVER)).status);
    }
    assert.deepEqual(seen, ['ready', 'ready', 'degraded', 'unhealthy', 'unhealthy', 'degraded', 'ready']);
    assert.deepEqual(
      events.map(({ event, data }) => [
        event,
        (data as { before: string }).before,
        (data as { status: string }).status,
      ]),
      [
        ['HealthChanged', 'unverified', 'ready'],
        ['HealthChanged', 'ready', 'degraded'],
        ['HealthChanged', 'degraded', 'unhealthy'],
        ['HealthChanged', 'unhealthy', 'degraded'],
        ['HealthChanged', 'degraded', 'ready'],
      ],
    );
    assert.deepEqual(events[2]?.data, {
      installation: 'side',
      before: 'degraded',
      status: 'unhealthy',
      message: 'it is unhealthy',
      checked_ts: 5000,
    });
  });

  it('ends a look that takes too long, and tells the probe', async () => {
    const { monitor, side, timing } = monitorBench();
    let aborted = false;
    side.answer = (signal) =>
      new Promise(() =>
        signal.addEventListener('abort', () => {
          aborted = true;
        }),
      );
    monitor.watch(side.subject());
    const looking = monitor.look('side', NEVER);
    await timing.run(100);
    const { status, message } = await looking;
    assert.deepEqual([status, aborted], ['degraded', true]);
    assert.match(message ?? '', /no answer within 100 ms/);
    assert.equal(timing.pending, 0);
  });

  it('keeps the words of a bug to itself', async () => {
    const { monitor, side } = monitorBench();
    side.answer = async () => {
      throw new TypeError('x is not a function');
    };
    monitor.watch(side.subject());
    assert.equal((await monitor.look('side', NEVER)).message, 'its health check broke off');
    side.answer = async () => {
      throw fail('http.failed', 'Cannot reach it');
    };
    assert.equal((await monitor.look('side', NEVER)).message, 'Cannot reach it');
  });

  it('admits at once what is not unhealthy, and what nobody watches', async () => {
    const { monitor, side } = monitorBench();
    monitor.watch(side.subject());
    assert.equal(
      monitor.admit('side', () => NEVER),
      undefined,
    );
    assert.equal(
      monitor.admit('file_read', () => assert.fail('asked')),
      undefined,
    );
    await monitor.look('side', NEVER);
    assert.equal(
      monitor.admit('side', () => NEVER),
      undefined,
    );
    assert.equal(side.looks, 1);
  });

  it('leaves alone what is unhealthy, then makes one look for all calls that wait', async () => {
    const { monitor, side, timing } = monitorBench();
    monitor.watch(side.subject());
    side.answer = async () => ({ status: 'unhealthy', checkedTs: null, message: 'gone' });
    await monitor.look('side', NEVER);
    await monitor.look('side', NEVER);
    assert.throws(() => monitor.admit('side', () => NEVER), {
      reason: 'tool.unhealthy',
      message:
        'Cannot use "side": its health check fails (gone); it is tried again in 1 s, and "haft tools health side" says more',
      details: { retry_after_ms: 1000 },
    });
    await timing.run(1000);
    const refused = await Promise.allSettled(
      Array.from({ length: 5 }, () => monitor.admit('side', () => NEVER)),
    );
    assert.equal(side.looks, 3);
    for (const one of refused) assert.equal((one as PromiseRejectedResult).reason.reason, 'tool.unhealthy');
    assert.throws(() => monitor.admit('side', () => NEVER), { reason: 'tool.unhealthy' });

    await timing.run(1000);
    side.answer = async () => ({ status: 'ready', checkedTs: null });
    await Promise.all(Array.from({ length: 5 }, () => monitor.admit('side', () => NEVER)));
    assert.equal(side.looks, 4);
    assert.equal(monitor.report('side')?.status, 'ready');
  });

  it('lets a call that waits for a look be cancelled, and goes on looking', async () => {
    const { monitor, side, timing } = monitorBench();
    const answer = Promise.withResolvers<HealthReport>();
    monitor.watch(side.subject({ failureThreshold: 1 }));
    side.answer = async () => ({ status: 'unhealthy', checkedTs: null });
    await monitor.look('side', NEVER);
    await timing.run(1000);
    side.answer = () => answer.promise;
    const controller = new AbortController();
    const waiting = monitor.admit('side', () => controller.signal);
    controller.abort(new Error('cancelled'));
    await assert.rejects(Promise.resolve(waiting), /cancelled/);
    answer.resolve({ status: 'ready', checkedTs: null });
    await monitor.look('side', NEVER);
    assert.equal(side.looks, 2);
  });

  it('learns from calls, but only from failures that tell something', async () => {
    const { monitor, side } = monitorBench();
    monitor.watch(side.subject());
    monitor.observe('side', undefined);
    assert.equal(monitor.report('side')?.status, 'ready');
    for (const reason of ['policy.denied', 'tool.failed', 'input.schema', 'time.cancelled'] as const)
      monitor.observe('side', { reason, message: '' });
    assert.equal(monitor.report('side')?.status, 'ready');
    monitor.observe('side', { reason: 'call.outcome_unknown', message: 'lost' });
    monitor.observe('side', { reason: 'tool.unhealthy', message: 'still lost' });
    assert.deepEqual(monitor.report('side'), { status: 'unhealthy', checkedTs: 5000, message: 'still lost' });
    monitor.observe('other', { reason: 'tool.unhealthy', message: '' });
  });

  it('counts a crash once, however many calls it took along', async () => {
    const { monitor, side, timing } = monitorBench();
    monitor.watch(side.subject());
    const crash = () => {
      for (let n = 0; n < 20; n++)
        monitor.observe('side', { reason: 'call.outcome_unknown', message: 'lost' });
    };
    crash();
    assert.equal(monitor.report('side')?.status, 'degraded');
    monitor.observe('side', undefined);
    assert.equal(monitor.report('side')?.status, 'ready');
    await timing.run(200);
    crash();
    await timing.run(200);
    crash();
    assert.equal(monitor.report('side')?.status, 'unhealthy');
  });

  it('looks at nothing that is disabled, and refuses calls to it', async () => {
    const { monitor, side, timing } = monitorBench();
    monitor.watch({ ...side.subject(), enabled: false });
    monitor.start();
    assert.equal(timing.pending, 0);
    assert.deepEqual(await monitor.look('side', NEVER), { status: 'disabled', checkedTs: null });
    assert.throws(() => monitor.admit('side', () => NEVER), { reason: 'tool.disabled' });
    assert.equal(side.looks, 0);
  });

  it('forgets what is not watched any more, also in the middle of a look', async () => {
    const { monitor, side, timing, events } = monitorBench();
    side.answer = () => new Promise(() => {});
    const unwatch = monitor.watch(side.subject());
    monitor.start();
    const looking = monitor.look('side', NEVER);
    unwatch();
    assert.equal((await looking).status, 'unverified');
    assert.deepEqual(monitor.reports(), []);
    assert.equal(timing.pending, 0);
    assert.deepEqual(events, []);
    side.answer = async () => ({ status: 'ready', checkedTs: null });
    const again = monitor.watch(side.subject());
    monitor.watch(side.subject({ intervalMs: 50 }));
    again();
    assert.equal((await monitor.look('side', NEVER)).status, 'ready');
    await monitor.close();
    assert.equal(timing.pending, 0);
  });

  it('starts nothing that sleeps only to look at it, but brings back what is unhealthy', async () => {
    const { monitor, side, timing } = monitorBench();
    let asleep = true;
    const subject = side.subject();
    monitor.watch({ ...subject, ways: { ...subject.ways, asleep: () => asleep } });
    monitor.start();
    await timing.run(10_000);
    assert.equal(side.looks, 0);
    asleep = false;
    await timing.run(1000);
    assert.equal(side.looks, 1);
    for (const message of ['lost', 'lost']) monitor.observe('side', { reason: 'tool.unhealthy', message });
    asleep = true;
    await timing.run(1000);
    assert.deepEqual([side.looks, monitor.report('side')?.status], [2, 'ready']);
    await monitor.close();
  });

  it('counts a look by a call once, whatever the call tells', async () => {
    const { monitor, timing } = monitorBench();
    const call: HealthWays['call'] = async () => {
      monitor.observe('x', { reason: 'http.failed', message: 'lost' });
      const error = { code: 'E_INTERNAL', reason: 'http.failed', message: 'lost', retryable: true } as const;
      return { ok: false, tool: 'x', requestId: '', callId: '', durationMs: 0, data: null, errors: [error] };
    };
    const ways: HealthWays = { connection: () => assert.fail('asked'), call };
    monitor.watch({
      name: 'x',
      identity: '',
      enabled: true,
      plan: { ...PLAN, strategy: 'ping', tool: 'x' },
      ways,
    });
    assert.equal((await monitor.look('x', NEVER)).status, 'degraded');
    assert.equal((await monitor.look('x', NEVER)).status, 'unhealthy');
    assert.equal(timing.pending, 0);
  });

  it('leaves unverified what an adapter cannot look at', async () => {
    const { monitor, side } = monitorBench();
    side.answer = async () => ({ status: 'unverified', checkedTs: null });
    monitor.watch(side.subject());
    assert.deepEqual(await monitor.look('side', NEVER), { status: 'unverified', checkedTs: null });
  });

  it('leaves to others what it saw of trouble, and looks before it refuses for what others saw', async () => {
    const kept: Remembered[] = [];
    const memory: HealthMemory = { recall: () => kept.at(-1), keep: (_, seen) => void kept.push(seen) };
    const one = monitorBench({ memory });
    one.monitor.watch(one.side.subject());
    await one.monitor.look('side', NEVER);
    assert.equal(kept.length, 0);
    for (const message of ['a', 'b']) one.monitor.observe('side', { reason: 'tool.unhealthy', message });
    assert.deepEqual(
      kept.map(({ state }) => state.status),
      ['degraded', 'unhealthy'],
    );

    const other = monitorBench({ memory });
    other.monitor.watch(other.side.subject());
    assert.equal(other.monitor.report('side')?.status, 'unhealthy');
    await other.monitor.admit('side', () => NEVER);
    assert.deepEqual([other.side.looks, other.monitor.report('side')?.status], [1, 'ready']);
    assert.equal(kept.at(-1)?.state.status, 'ready');

    kept.push({ ...kept[1]!, checkedTs: 5000 - REMEMBERED_MS });
    const late = monitorBench({ memory });
    late.monitor.watch(late.side.subject());
    assert.equal(late.monitor.report('side')?.status, 'unverified');
  });

  it('does not keep a process alive', async () => {
    const timing = systemTiming({ now: Date.now, monotonic: () => performance.now() });
    const monitor = createHealthMonitor({ timing, events: createEventBus() });
    monitor.watch(monitorBench().side.subject());
    monitor.start();
    const active = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    assert.equal(active(), 0);
    await monitor.close();
  });
});
