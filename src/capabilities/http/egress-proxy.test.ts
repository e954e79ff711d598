import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { startProxy, status, talk, tunnel } from './egress/proxy-for-tests.ts';
import { createHttpKit } from './servers-for-tests.ts';

const { server, opened, closeAll } = createHttpKit();
afterEach(closeAll);
const proxy = async (...args: Parameters<typeof startProxy>) => opened(await startProxy(...args));

describe('createEgressProxy', () => {
  it('takes no more connections at once than it may', async () => {
    const made = await proxy({ maxConnections: 2 });
    const first = [connect(made.port, '127.0.0.1'), connect(made.port, '127.0.0.1')];
    await Promise.all(first.map((socket) => new Promise((resolve) => socket.on('connect', resolve))));
    assert.equal(status(await talk(made.port, '')), 503);
    for (const socket of first) socket.destroy();
    await eventually(() => made.records.some(({ outcome }) => outcome === 'busy'), 'the record');
  });

  it('hangs up on programs that say nothing, or go quiet', async () => {
    const host = await server(() => {});
    const made = await proxy({ headTimeoutMs: 100, idleTimeoutMs: 100 });
    assert.equal(await talk(made.port, 'GET http://good.test/ HT'), '');
    assert.equal(await talk(made.port, `GET http://good.test:${host.port}/ HTTP/1.1\r\nHost: x\r\n\r\n`), '');
    const { socket } = await tunnel(made.port, `good.test:${host.port}`);
    await new Promise((resolve) => socket.on('close', resolve));
    await eventually(() => made.records.length === 3, 'the records');
    assert.deepEqual(
      made.records.map(({ outcome }) => outcome),
      ['malformed', 'idle', 'mismatch'],
    );
    await eventually(() => host.connections.open.size === 0, 'the host is left');
  });

  it('ends everything on close', async () => {
    const host = await server(() => {});
    const made = await proxy();
    const { socket } = await tunnel(made.port, `good.test:${host.port}`);
    const waiting = talk(made.port, `GET http://good.test:${host.port}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
    await eventually(() => host.connections.made === 2, 'both arrive');
    await made.close();
    await made.close();
    await Promise.all([
      waiting,
      new Promise((resolve) => (socket.closed ? resolve(0) : socket.on('close', resolve))),
    ]);
    await eventually(() => host.connections.open.size === 0, 'the host is left');
    assert.deepEqual(
      made.records.map(({ outcome }) => outcome),
      ['closed', 'closed'],
    );
  });

  it('listens on a unix socket that only its owner can open', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'haft-egress-'));
    const socket = join(folder, 'proxy');
    const made = await proxy({ listen: { socket } });
    assert.deepEqual([made.address, statSync(socket).mode & 0o777], [{ socket }, 0o600]);
    await made.close();
    assert.equal(existsSync(socket), false);
    rmSync(folder, { recursive: true });
  });

  it('refuses where policy throws, and takes no harm from a program that leaves', async () => {
    const made = await proxy({
      allow() {
        throw new Error('a bug');
      },
    });
    assert.equal(status((await tunnel(made.port, 'good.test:443')).head), 403);
    for (let i = 0; i < 20; i += 1)
      connect(made.port, '127.0.0.1')
        .on('error', () => {})
        .destroy();
    assert.equal(status((await tunnel(made.port, 'good.test:443')).head), 403);
  });
});
