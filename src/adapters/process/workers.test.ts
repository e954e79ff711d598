import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { packFiles } from '../pack-for-tests.ts';
import { NODE_TOOLS, ownPrograms, PYTHON_TOOLS, withPack } from './process-for-tests.ts';

describe('warm workers', () => {
  const warm = (name: string, rest: object = {}) =>
    [`p.${name}`, { kind: 'python', module: `tools:${name}`, warm: true }, rest] as const;
  const scripts = { 'tools.py': PYTHON_TOOLS, 'tools.mjs': NODE_TOOLS };

  it('keep their state between calls, for tools of one profile, and not for others', async () => {
    const tools = [
      warm('counted'),
      ['p.again', { kind: 'python', module: 'tools:counted', warm: true }],
      ['p.other', { kind: 'python', module: 'tools:counted', warm: true }, { env: { set: { A: 'b' } } }],
      ['p.js', { kind: 'node', module: './tools.mjs:counted', warm: true }],
    ] as const;
    await withPack(packFiles(tools, scripts), async ({ call }) => {
      const data = async (id: string) => ((await call(id)) as { data: number }).data;
      assert.deepEqual([await data('p.counted'), await data('p.counted'), await data('p.again')], [1, 2, 3]);
      assert.deepEqual([await data('p.other'), await data('p.js'), await data('p.js')], [1, 1, 2]);
    });
  });

  it('are replaced after so many calls, and after a fault', async () => {
    await withPack(
      packFiles([warm('counted'), warm('crash')], scripts),
      async ({ call }) => {
        const next = async () => ((await call('p.counted')) as { data: number }).data;
        assert.deepEqual([await next(), await next(), await next(), await next()], [1, 2, 3, 1]);
        await assert.rejects(call('p.crash'), { reason: 'call.outcome_unknown' });
        assert.equal(await next(), 1);
      },
      { workers: { maxCalls: 3 } },
    );
  });

  it('are ended by time and by cancelling, and refuse what is too long; the next call finds a new one', async () => {
    const limits = { maxInputBytes: 1000, maxOutputBytes: 1000 };
    const tools = [warm('wait', { timeoutMs: 300 }), warm('big', { limits }), warm('counted')];
    await withPack(packFiles(tools, scripts), async ({ call, fixture }) => {
      await assert.rejects(call('p.wait'), { reason: 'time.deadline' });
      await assert.rejects(call('p.big'), { reason: 'output.too_large' });
      assert.deepEqual(await call('p.counted'), { ok: true, data: 1 });
      assert.equal(ownPrograms(fixture).length, 1, 'of those that were ended nothing is left');
    });
  });

  it('hold each tool to its own limit, also where another of the same profile may answer more', async () => {
    const limits = { maxInputBytes: 1000, maxOutputBytes: 1000 };
    const tools = [warm('counted'), warm('big', { limits })];
    await withPack(packFiles(tools, scripts), async ({ call }) => {
      await call('p.counted');
      await assert.rejects(call('p.big'), { reason: 'output.too_large' });
    });
  });

  it('are evicted when nobody came for a while', async () => {
    await withPack(
      packFiles([warm('counted')], scripts),
      async ({ call, fixture }) => {
        await call('p.counted');
        await eventually(() => ownPrograms(fixture).length === 0, 'the end of the worker');
        assert.deepEqual(await call('p.counted'), { ok: true, data: 1 });
      },
      { workers: { idleMs: 50 } },
    );
  });

  it('are looked after with each call: what they may not make is moved away, and the call fails', async () => {
    const caps = { filesystem: { write: ['data'] } };
    const scripts = {
      'made.py': [
        'import os, time',
        'def put(input):',
        '    os.makedirs("data/sub", exist_ok=True)',
        '    open("data/sub/" + input["name"], "w").write("x")',
        '    if input.get("wait"): time.sleep(60)',
      ].join('\n'),
    };
    const tool = [
      'p.put',
      { kind: 'python', module: 'made:put', warm: true },
      { caps, mutates: true },
    ] as const;
    await withPack(packFiles([tool], scripts), async ({ call, fixture }) => {
      const at = (name: string) => existsSync(join(fixture.root, 'data/sub', name));
      await call('p.put', { name: 'free' });
      await assert.rejects(call('p.put', { name: 'haft.yaml' }), { reason: 'policy.quarantined' });
      const stop = new AbortController();
      const cancelled = call('p.put', { name: 'haft.lock', wait: true }, { signal: stop.signal });
      cancelled.catch(() => {});
      await eventually(() => at('haft.lock'), 'what it makes');
      stop.abort();
      await assert.rejects(cancelled);
      await eventually(() => !at('haft.lock'), 'the look after a call that was cancelled');
      await call('p.put', { name: 'free' });
      assert.deepEqual(['free', 'haft.yaml', 'haft.lock'].map(at), [true, false, false]);
    });
  });
});
