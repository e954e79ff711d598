import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { createInprocessAdapter } from '../../adapters/inprocess/inprocess.ts';
import type { HealthPlan, HealthWays } from '../../contract/health.ts';
import { installationOf } from '../../contract/tools-for-tests.ts';
import { monitorBench, NEVER, PLAN } from './monitor-for-tests.ts';

describe('a strategy', () => {
  const lookBy = async (plan: Partial<HealthPlan>, ways: Partial<HealthWays>) => {
    const { monitor } = monitorBench();
    const all: HealthWays = { connection: () => ({ health: async () => assert.fail('asked') }), ...ways };
    monitor.watch({
      name: 'x',
      identity: '',
      enabled: true,
      plan: { ...PLAN, failureThreshold: 1, ...plan },
      ways: all,
    });
    return monitor.look('x', NEVER);
  };

  for (const strategy of ['process', 'connection', 'mcp'] as const) {
    it(`${strategy} asks the adapter`, async () => {
      const connection = await createInprocessAdapter({}).open(installationOf('x', {}), []);
      assert.equal((await lookBy({ strategy }, { connection: () => connection })).status, 'ready');
      await connection.close();
      assert.equal((await lookBy({ strategy }, { connection: () => connection })).status, 'unhealthy');
    });
  }

  it('endpoint asks its url, and takes a status below 400 for good', async () => {
    let status = 204;
    const server = createServer((_, response) => response.writeHead(status).end('x'.repeat(1000)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz`;
    const http = {
      request: async ({ url: asked, signal }: { url: string; signal?: AbortSignal }) =>
        (await fetch(asked, { ...(signal ? { signal } : {}) })) as never,
    };
    try {
      assert.equal((await lookBy({ strategy: 'endpoint', url }, { http })).status, 'ready');
      status = 503;
      const report = await lookBy({ strategy: 'endpoint', url }, { http });
      assert.deepEqual(
        [report.status, report.message],
        ['unhealthy', 'its endpoint answers with status 503'],
      );
      assert.equal((await lookBy({ strategy: 'endpoint' }, { http })).status, 'unhealthy');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('ping makes a call through the pipeline', async () => {
    const asked: unknown[] = [];
    const answer = { ok: true, tool: 't', requestId: '', callId: '', durationMs: 0, data: null, errors: [] };
    const call: HealthWays['call'] = async (request) => {
      asked.push(request);
      return answer;
    };
    assert.equal((await lookBy({ strategy: 'ping', tool: 't', input: { a: 1 } }, { call })).status, 'ready');
    assert.deepEqual(asked, [{ tool: 't', args: { a: 1 } }]);
    const failing: HealthWays['call'] = async () => ({
      ...answer,
      ok: false,
      errors: [{ code: 'E_POLICY', reason: 'policy.denied', message: 'no', retryable: false }],
    });
    const report = await lookBy({ strategy: 'ping', tool: 't' }, { call: failing });
    assert.deepEqual([report.status, report.message], ['unhealthy', 'no']);
  });
});
