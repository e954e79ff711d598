import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Adapter } from '../contract/adapter.ts';
import type { HealthStatus } from '../contract/manifest.ts';
import { boundTool, installationOf } from '../contract/tools-for-tests.ts';
import { combineAdapters } from './combined.ts';
import { invocationOf } from './fixtures-for-tests.ts';

const never = new AbortController().signal;

function way(name: string, status: HealthStatus, log: string[]): Adapter {
  return {
    name,
    effects: () => [{ kind: 'exec', command: name }],
    open(_, tools) {
      log.push(`${name} opened for ${tools.map(({ contract }) => contract.id)}`);
      return {
        invoke: async ({ tool }) => ({ ok: true, data: `${name} ${tool}` }),
        health: async () => ({ status, checkedTs: null }),
        close: async () => void log.push(`${name} closed`),
      };
    },
  };
}

describe('combineAdapters', () => {
  const tools = [boundTool('p.a', 'one', {}), boundTool('p.b', 'two', {}), boundTool('p.c', 'one', {})];

  it('sends each call the way that its binding names, and opens no way before', async () => {
    const log: string[] = [];
    const adapter = combineAdapters('both', [way('one', 'ready', log), way('two', 'ready', log)]);
    const connection = await adapter.open(installationOf('p', {}), tools);
    assert.deepEqual(log, []);
    assert.deepEqual(await connection.invoke(invocationOf('p.c', {})), { ok: true, data: 'one p.c' });
    assert.deepEqual(log, ['one opened for p.a,p.c']);
    await assert.rejects(connection.invoke(invocationOf('p.x', {})), { reason: 'tool.unknown' });
    const query = {
      installation: installationOf('p', {}),
      args: {},
      site: { place: (path: string) => path },
    };
    const [effect] = (await adapter.effects?.({ ...query, tool: tools[1]! })) ?? [];
    assert.deepEqual(effect, { kind: 'exec', command: 'two' });
    await connection.close();
    await connection.close();
    assert.deepEqual(log.slice(1, 3), ['one closed', 'one closed']);
    await assert.rejects(connection.invoke(invocationOf('p.a', {})), { reason: 'call.outcome_unknown' });
    assert.equal((await connection.health(never)).status, 'unhealthy');
  });

  it('is as healthy as its ways, and degraded where only some work', async () => {
    const status = async (one: HealthStatus, two: HealthStatus) => {
      const adapter = combineAdapters('both', [way('one', one, []), way('two', two, [])]);
      return (await (await adapter.open(installationOf('p', {}), tools)).health(never)).status;
    };
    assert.equal(await status('ready', 'ready'), 'ready');
    assert.equal(await status('ready', 'unhealthy'), 'degraded');
    assert.equal(await status('unhealthy', 'unhealthy'), 'unhealthy');
    assert.equal(await status('ready', 'unverified'), 'unverified');
  });

  it('refuses a binding to a way that it does not have', () => {
    const adapter = combineAdapters('both', [way('one', 'ready', [])]);
    assert.throws(() => adapter.open(installationOf('p', {}), tools), { reason: 'pack.invalid' });
  });
});
