import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { eventually } from '../../../test/support/eventually.ts';
import { createHttpCapability } from './handle.ts';
import {
  createAuthority,
  createHttpKit,
  createHttpScope,
  onLoopback,
  startServer,
  startTcpServer,
  startTlsServer,
  type TestAuthority,
  textOf,
} from './servers-for-tests.ts';

const { server, opened, request, closeAll } = createHttpKit();
afterEach(closeAll);

describe('time', () => {
  it('ends a request whose headers never come, or come drop by drop', async () => {
    for (const drip of [false, true]) {
      const { origin, connections } = opened(
        await startTcpServer((socket) => {
          socket.write('HTTP/1.1 200 OK\r\n');
          const timer = setInterval(() => socket.write('X-Slow: y\r\n'), 20);
          if (!drip) clearInterval(timer);
          socket.on('close', () => clearInterval(timer));
        }),
      );
      await assert.rejects(request({ url: origin, timeoutMs: 200 }), { reason: 'time.deadline' });
      await eventually(() => connections.open.size === 0, 'the connection closes');
    }
  });
  it('ends a request whose body comes drop by drop, also an encoded one', async () => {
    for (const encoding of ['identity', 'gzip']) {
      const { origin, connections } = await server((_, answer) => {
        answer.setHeader('content-encoding', encoding);
        answer.write(gzipSync('x').subarray(0, 5));
        const timer = setInterval(() => answer.write('x'), 20);
        answer.on('close', () => clearInterval(timer));
      });
      const sent = request({ url: origin, timeoutMs: 200 });
      if (encoding === 'identity') await assert.rejects(sent, { reason: 'time.deadline' });
      else await assert.rejects(sent);
      await eventually(() => connections.open.size === 0, 'the connection closes');
    }
  });
  it('keeps narrower limits of one connection', async () => {
    const { origin } = await server((got, answer) => {
      if (got.url === '/body') answer.write('x');
    });
    await assert.rejects(request({ url: origin, headersTimeoutMs: 100, retries: 0 }), {
      reason: 'time.deadline',
      message: /took too long to begin/,
    });
    await assert.rejects(request({ url: `${origin}/body`, bodyTimeoutMs: 100, retries: 0 }), {
      reason: 'time.deadline',
      message: /stopped in the middle/,
    });
  });
  it('ends a name that never resolves', async () => {
    const lookup = () => new Promise<never>(() => {});
    await assert.rejects(request({ url: 'http://slow.test/', timeoutMs: 100 }, {}, { lookup }), {
      reason: 'time.deadline',
    });
  });
  it('ends with the call, with the reason of the call, and hangs up', async () => {
    const { origin, connections } = await server(() => {});
    const controller = new AbortController();
    const sent = request({ url: origin }, { signal: controller.signal });
    await eventually(() => connections.made === 1, 'the request arrives');
    const reason = Object.assign(new Error('over'), { reason: 'time.cancelled' });
    controller.abort(reason);
    await assert.rejects(sent, reason);
    await eventually(() => connections.open.size === 0, 'the connection closes');
  });
  it('does not begin for a call that has ended, and names a stranger’s abort', async () => {
    const { origin, connections } = await server((_, answer) => answer.end());
    await assert.rejects(request({ url: origin, signal: AbortSignal.abort() }), { reason: 'time.cancelled' });
    assert.equal(connections.made, 0);
  });
});

describe('trying again', () => {
  const flaky = (failures: number, fail: RequestListener) => {
    let seen = 0;
    return server((got, answer) => {
      seen += 1;
      if (seen <= failures) fail(got, answer);
      else answer.end(String(seen));
    });
  };
  it('sends an idempotent request again after 502, 503, 504 and lost connections', async () => {
    for (const fail of [
      ...[502, 503, 504].map(
        (status): RequestListener =>
          (_, answer) =>
            answer.writeHead(status).end(),
      ),
      ((got) => got.socket.destroy()) as RequestListener,
    ]) {
      const { origin } = await flaky(2, fail);
      const answer = await request({ url: origin, method: 'PUT', body: 'b' });
      assert.deepEqual([answer.status, answer.attempts, textOf(answer.body)], [200, 3, '3']);
    }
  });
  it('answers with the last failure when the tries are used up, body included', async () => {
    const { origin } = await flaky(9, (_, answer) => answer.writeHead(503).end('down'));
    const answer = await request({ url: origin });
    assert.deepEqual([answer.status, answer.attempts, textOf(answer.body)], [503, 3, 'down']);
  });
  it('does not wait for a server that asks for more time than there is', async () => {
    const { origin } = await flaky(9, (_, answer) =>
      answer.writeHead(503, { 'retry-after': '3600' }).end('later'),
    );
    const answer = await request({ url: origin });
    assert.deepEqual([answer.status, answer.attempts, textOf(answer.body)], [503, 1, 'later']);
  });
  it('never sends other requests twice, and says when their outcome is not known', async () => {
    for (const method of ['POST', 'PATCH']) {
      const { origin, connections } = await flaky(9, (got) => got.socket.destroy());
      await assert.rejects(request({ url: origin, method, body: 'b' }), { reason: 'call.outcome_unknown' });
      assert.equal(connections.made, 1);
      const busy = await flaky(9, (_, answer) => answer.writeHead(503).end());
      assert.equal((await request({ url: busy.origin, method })).attempts, 1);
    }
  });
  it('knows that a request did not leave where there was no connection', async () => {
    const gone = await startServer(() => {});
    await gone.close();
    for (const method of ['GET', 'POST'])
      await assert.rejects(request({ url: gone.origin, method }), {
        reason: 'http.failed',
        message: /refuses connections/,
      });
  });
});

describe('TLS', () => {
  let authority: TestAuthority;
  before(() => {
    authority = createAuthority();
  });
  after(() => authority.close());
  const secure = async (names: string, days?: number) =>
    opened(await startTlsServer(authority.issue(names, days), (_, answer) => answer.end('safe')));
  const ask = (host: string, port: number, trusted = true) =>
    request(
      { url: `https://${host}:${port}/`, retries: 0 },
      {},
      { lookup: onLoopback, ...(trusted ? { extraCa: [authority.ca] } : {}) },
    );

  it('verifies a certificate for the name, and for an address', async () => {
    const { port } = await secure('DNS:tls.test,IP:127.0.0.1');
    const named = await ask('tls.test', port);
    assert.equal(textOf(named.body), 'safe');
    assert.ok(named.timings.tls > 0 && named.timings.connect > 0);
    assert.equal(textOf((await ask('127.0.0.1', port)).body), 'safe');
  });
  it('refuses a certificate for another name, of nobody, or of the past', async () => {
    const { port } = await secure('DNS:tls.test');
    await assert.rejects(ask('other.test', port), { reason: 'http.failed', message: /another host/ });
    await assert.rejects(ask('127.0.0.1', port), { reason: 'http.failed', message: /another host/ });
    await assert.rejects(ask('tls.test', port, false), {
      reason: 'http.failed',
      message: /nobody that is trusted/,
    });
  });
  it('does not let the environment turn verification off', async () => {
    const { port } = await secure('DNS:tls.test');
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      await assert.rejects(ask('tls.test', port, false), { reason: 'http.failed' });
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
  });
  it('says that a server which speaks no TLS is not one', async () => {
    const { port } = await server((_, answer) => answer.end());
    await assert.rejects(ask('tls.test', port), { reason: 'http.failed' });
  });
});

describe('HttpCapability.close', () => {
  it('ends kept connections and requests under way', async () => {
    const { origin, connections } = await server((got, answer) => {
      if (got.url === '/') answer.end();
    });
    const http = createHttpCapability();
    const handle = http.open(createHttpScope());
    await handle.request({ url: origin });
    const hanging = assert.rejects(handle.request({ url: `${origin}/hangs`, retries: 0 }), {
      reason: 'http.failed',
    });
    await eventually(() => connections.open.size > 0, 'the request arrives');
    await http.close();
    await hanging;
    await eventually(() => connections.open.size === 0, 'all connections close');
  });
});
