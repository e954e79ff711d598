import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { eventually } from '../../../../test/support/eventually.ts';
import {
  createAuthority,
  createHttpKit,
  startTcpServer,
  startTlsServer,
  type TestAuthority,
} from '../servers-for-tests.ts';
import { startProxy, status, talk, tunnel } from './proxy-for-tests.ts';

const { opened, closeAll } = createHttpKit();
afterEach(closeAll);
const proxy = async (...args: Parameters<typeof startProxy>) => opened(await startProxy(...args));

describe('openTunnel', () => {
  let authority: TestAuthority;
  before(() => {
    authority = createAuthority();
  });
  after(() => authority.close());
  const secure = async () =>
    opened(
      await startTlsServer(authority.issue('DNS:good.test,DNS:other.test'), (_, answer) =>
        answer.end('secret page'),
      ),
    );

  /** One HTTPS request through the tunnel; rejects where that is closed. */
  async function fetchThrough(port: number, target: string, servername: string): Promise<string> {
    const { socket, head } = await tunnel(port, target);
    assert.match(head, /^HTTP\/1\.1 200 /);
    const named = servername === '' ? { checkServerIdentity: () => undefined } : {};
    const tls = connectTls({ socket, servername, ca: authority.ca, ...named });
    return new Promise((resolve, reject) => {
      let got = '';
      tls.on('secureConnect', () => tls.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'));
      tls.on('data', (chunk) => {
        got += chunk;
      });
      tls.on('end', () => (got === '' ? reject(new Error('closed')) : resolve(got)));
      tls.on('error', reject);
    });
  }

  it('passes TLS for the host through, and records it', async () => {
    const { port } = await secure();
    const made = await proxy();
    assert.match(await fetchThrough(made.port, `good.test:${port}`, 'good.test'), /secret page/);
    assert.deepEqual(made.asked, [{ scheme: 'https', host: 'good.test', port }]);
    await eventually(() => made.records.length === 1, 'the record');
    const [record] = made.records;
    assert.deepEqual(
      [record?.scheme, record?.host, record?.port, record?.address, record?.outcome],
      ['https', 'good.test', port, '127.0.0.1', 'done'],
    );
    assert.ok(record!.bytesUp > 100 && record!.bytesDown > 100);
  });

  it('closes a tunnel whose TLS is for another host, names none, or is none', async () => {
    const host = await secure();
    const made = await proxy();
    const target = `good.test:${host.port}`;
    await assert.rejects(fetchThrough(made.port, target, 'other.test'));
    await assert.rejects(fetchThrough(made.port, target, ''));
    const { socket } = await tunnel(made.port, target);
    socket.write('GET / HTTP/1.1\r\nHost: good.test\r\n\r\n');
    await new Promise((resolve) => socket.on('close', resolve));
    await eventually(() => made.records.length === 3, 'the records');
    assert.deepEqual(
      made.records.map(({ outcome, bytesUp }) => [outcome, bytesUp]),
      [
        ['mismatch', 0],
        ['mismatch', 0],
        ['mismatch', 0],
      ],
    );
  });

  it('refuses hosts, addresses and ports that are not granted', async () => {
    const host = await secure();
    const made = await proxy({
      allow: ({ host: name, port }) => ({ allow: name === 'good.test' && port === host.port }),
    });
    for (const target of [
      'evil.test:443',
      `evil.test:${host.port}`,
      'good.test:22',
      `127.0.0.1:${host.port}`,
      `[::1]:${host.port}`,
      `2130706433:${host.port}`,
      `xgood.test:${host.port}`,
    ]) {
      const { head } = await tunnel(made.port, target);
      assert.equal(status(head), 403, target);
    }
    // Granted by name, but not as private.
    assert.equal(status((await tunnel(made.port, `good.test:${host.port}`)).head), 403);
    assert.equal(host.connections.made, 0);
    assert.ok(made.records.every(({ outcome }) => outcome === 'denied'));
    assert.match(made.records.at(-1)?.message ?? '', /loopback/);
  });

  it('lets a granted address through, without a name in its TLS', async () => {
    const host = opened(
      await startTlsServer(authority.issue('IP:127.0.0.1'), (_, answer) => answer.end('by address')),
    );
    const made = await proxy({}, ['127.0.0.1']);
    assert.match(await fetchThrough(made.port, `127.0.0.1:${host.port}`, ''), /by address/);
    await assert.rejects(fetchThrough(made.port, `127.0.0.1:${host.port}`, 'good.test'));
  });

  it('resolves the name itself, once, and refuses where it leads to metadata', async () => {
    let asked = 0;
    const lookup = async () => {
      asked += 1;
      return [{ address: '169.254.169.254', family: 4 as const }];
    };
    const made = await proxy({ lookup });
    assert.equal(status((await tunnel(made.port, 'good.test:443')).head), 403);
    assert.equal(asked, 1);
  });

  const TRICKS = [
    'CONNECT good.test HTTP/1.1\r\nHost: good.test\r\n\r\n',
    'CONNECT good.test:443:443 HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT user@good.test:443 HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT http://good.test:443/ HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT good.test:443/x HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT good.test:0 HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT good.test:99999 HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT good.test:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc',
    'CONNECT good.test:443 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ];
  for (const trick of TRICKS)
    it(`refuses ${JSON.stringify(trick.slice(0, 60))}`, async () => {
      const made = await proxy();
      assert.equal(status(await talk(made.port, trick)), 400);
      assert.deepEqual(made.asked, []);
      await eventually(() => made.records[0]?.outcome === 'malformed', 'the record');
    });

  it('takes a ClientHello that comes with the request, and one in pieces', async () => {
    const host = opened(await startTcpServer((socket) => socket.once('data', () => socket.end('reached'))));
    const made = await proxy();
    const name = Buffer.from('good.test');
    const sni = Buffer.concat([Buffer.from([0, name.length + 3, 0, 0, name.length]), name]);
    const sniExt = Buffer.concat([Buffer.from([0, 0, 0, sni.length + 0]), sni]);
    sniExt.writeUInt16BE(sni.length, 2);
    const extensions = Buffer.concat([Buffer.from([0, sniExt.length]), sniExt]);
    const body = Buffer.concat([
      Buffer.from([3, 3]),
      Buffer.alloc(32),
      Buffer.from([0, 0, 2, 0x13, 1, 1, 0]),
      extensions,
    ]);
    const message = Buffer.concat([Buffer.from([1, 0, 0, body.length]), body]);
    const record = Buffer.concat([Buffer.from([22, 3, 1, 0, message.length]), message]);
    const head = Buffer.from(`CONNECT good.test:${host.port} HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.match(await talk(made.port, Buffer.concat([head, record])), /200 [\s\S]*reached$/);
    const { socket } = await tunnel(made.port, `good.test:${host.port}`);
    const got = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(chunk.toString())));
    for (const byte of record) socket.write(Buffer.from([byte]));
    assert.equal(await got, 'reached');
    socket.destroy();
  });

  it('answers 502 where the host cannot be reached', async () => {
    const gone = await startTcpServer(() => {});
    await gone.close();
    const made = await proxy();
    assert.equal(status((await tunnel(made.port, `good.test:${gone.port}`)).head), 502);
    assert.equal(made.records[0]?.outcome, 'failed');
  });
});
