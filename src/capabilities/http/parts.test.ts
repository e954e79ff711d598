import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRateLimit } from './client.ts';
import { createHostResolver, dial } from './dial.ts';
import { retryDelay } from './retry.ts';
import { startServer } from './servers-for-tests.ts';

describe('dial', () => {
  it('hangs up where the connection led to another address than the one that was checked', async () => {
    const server = await startServer((_, answer) => answer.end());
    // A host that is an address never asks for one: what was checked must still be what was reached.
    const spec = { host: '127.0.0.1', port: server.port, secure: false, timeoutMs: 1000 };
    const error = await new Promise((resolve) => {
      dial({ ...spec, addresses: [{ address: '127.0.0.2', family: 4 }] }, resolve);
    });
    assert.equal((error as { code?: string }).code, 'HAFT_OTHER_ADDRESS');
    await server.close();
  });
  it('tries the next address where one does not answer', async () => {
    const server = await startServer((_, answer) => answer.end());
    const spec = { host: 'two.test', port: server.port, secure: false, timeoutMs: 5000 };
    const addresses = [
      { address: '::1', family: 6 as const },
      { address: '127.0.0.1', family: 4 as const },
    ];
    const reached = await new Promise((resolve, reject) => {
      dial({ ...spec, addresses }, (error, socket, dialled) => {
        socket.destroy();
        if (error) reject(error);
        else resolve(dialled?.address);
      });
    });
    assert.equal(reached, '127.0.0.1');
    await server.close();
  });
});

describe('createHostResolver', () => {
  it('asks once for many, and once more when the answer is old', async () => {
    let asked = 0;
    const lookup = async () => {
      asked += 1;
      return [{ address: '8.8.8.8', family: 4 as const }];
    };
    const resolve = createHostResolver(lookup, 60_000);
    await Promise.all([resolve('a.test'), resolve('a.test')]);
    assert.ok(!(resolve('a.test') instanceof Promise));
    assert.equal(asked, 1);
    const forgetful = createHostResolver(lookup, 0);
    await forgetful('a.test');
    await forgetful('a.test');
    assert.equal(asked, 3);
  });
  it('keeps no failure', async () => {
    let asked = 0;
    const resolve = createHostResolver(async () => {
      asked += 1;
      if (asked === 1) throw Object.assign(new Error('no'), { code: 'ENOTFOUND' });
      return [{ address: '8.8.8.8', family: 4 as const }];
    });
    await assert.rejects(async () => resolve('a.test'), { code: 'ENOTFOUND' });
    assert.equal((await resolve('a.test')).length, 1);
  });
  it('answers an address with itself, and asks nobody', () => {
    const resolve = createHostResolver(() => assert.fail('asked'));
    assert.deepEqual(resolve('[::1]'), [{ address: '::1', family: 6 }]);
    assert.deepEqual(resolve('127.0.0.1'), [{ address: '127.0.0.1', family: 4 }]);
  });
});

describe('createRateLimit', () => {
  const limit = () => createRateLimit({ perSecond: 10, burst: 3, maxWaitMs: 250 });
  it('lets a burst through, then one at a time, then nobody who would wait for too long', () => {
    const { take } = limit();
    assert.deepEqual(
      [1, 2, 3, 4, 5].map(() => take('a', 1000)),
      [0, 0, 0, 100, 200],
    );
    assert.throws(() => take('a', 1000), {
      reason: 'http.rate',
      details: { host: 'a', retry_after_ms: 300 },
    });
    assert.equal(take('b', 1000), 0);
  });
  it('fills again with time, and a refusal takes nothing', () => {
    const { take } = limit();
    for (let i = 0; i < 5; i += 1) take('a', 1000);
    for (let i = 0; i < 9; i += 1) assert.throws(() => take('a', 1000));
    assert.equal(take('a', 1500), 0);
    assert.deepEqual(
      [1, 2, 3].map(() => take('a', 99_000)),
      [0, 0, 0],
    );
  });
});

describe('retryDelay', () => {
  const head = (after: string) => ({ status: 503, headers: { 'retry-after': after } });
  it('grows, within bounds, and is never the same for all', () => {
    assert.deepEqual(
      [1, 2, 3, 9].map((n) => retryDelay(n, 1e6, undefined, () => 0)),
      [50, 100, 200, 1000],
    );
    assert.deepEqual(
      [1, 2, 3, 9].map((n) => retryDelay(n, 1e6, undefined, () => 1)),
      [100, 200, 400, 2000],
    );
  });
  it('keeps to what the server asks for, and to the deadline', () => {
    assert.equal(
      retryDelay(1, 1e6, head('3'), () => 0),
      3000,
    );
    assert.equal(retryDelay(1, 2000, head('3')), undefined);
    assert.equal(retryDelay(1, 10), undefined);
    assert.equal(
      retryDelay(1, 1e6, head('Tue, 01 Jan 2030 00:00:00 GMT'), () => 0),
      50,
    );
  });
});
