import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import fc from '../../../../test/support/properties.ts';
import { readClientHello } from './tunnel.ts';

/** What Node's own TLS says first. */
async function hello(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const bytes = await new Promise<Buffer>((resolve) => {
    server.once('connection', (socket: Socket) => {
      let got = Buffer.alloc(0);
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        got = Buffer.concat([got, chunk]);
        if (got.length >= 5 + got.readUInt16BE(3)) {
          socket.destroy();
          resolve(got);
        }
      });
    });
    connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }).on('error', () => {});
  });
  await new Promise((resolve) => server.close(resolve));
  return bytes;
}

/** Cuts the one record into many. */
function inRecords(bytes: Buffer, size: number): Buffer {
  const body = bytes.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

describe('readClientHello', () => {
  it('reads the name of the host, in TLS 1.2 and 1.3', async () => {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const bytes = await hello({ servername: 'Example.Test', maxVersion });
      assert.deepEqual(readClientHello(bytes), { state: 'ok', serverName: 'example.test' });
    }
  });
  it('says where none is named', async () => {
    assert.deepEqual(readClientHello(await hello({})), { state: 'ok', serverName: undefined });
  });
  it('waits for the rest, wherever the message is cut, and whatever its records are', async () => {
    const bytes = await hello({ servername: 'example.test' });
    for (let at = 0; at < bytes.length; at += 1) {
      assert.equal(readClientHello(bytes.subarray(0, at)).state, 'more', `${at} bytes`);
    }
    for (const size of [1, 2, 3, 5, 100]) {
      assert.deepEqual(readClientHello(inRecords(bytes, size)), { state: 'ok', serverName: 'example.test' });
    }
  });
  it('refuses what is no TLS at the first byte that shows it', () => {
    for (const text of ['GET / HTTP/1.1\r\n', 'SSH-2.0-x\r\n', '\x00', 'PRI * HTTP/2.0\r\n'])
      assert.deepEqual(readClientHello(Buffer.from(text)), { state: 'bad', message: 'it is not TLS' });
    assert.equal(readClientHello(Buffer.from([22, 2, 0, 0, 5])).state, 'bad');
    assert.equal(readClientHello(Buffer.from([22, 3, 1, 0, 0])).state, 'bad');
    assert.equal(readClientHello(Buffer.from([22, 3, 1, 0xff, 0xff])).state, 'bad');
    assert.equal(readClientHello(Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])).state, 'bad');
  });
  it('refuses a message that never ends', () => {
    assert.equal(readClientHello(Buffer.from([22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff])).state, 'bad');
    const crumbs = Buffer.concat(
      Array.from({ length: 6000 }, (_, i) => Buffer.from([22, 3, 1, 0, 1, i === 0 ? 1 : 0])),
    );
    assert.equal(readClientHello(crumbs.subarray(0, 6)).state, 'more');
    assert.notEqual(readClientHello(crumbs).state, 'more');
  });
  it('refuses a second name, a second list, a name that is none, and more after the end', async () => {
    const bytes = await hello({ servername: 'example.test' });
    const at = bytes.indexOf('example.test');
    const zero = Buffer.from(bytes);
    zero[at + 3] = 0;
    assert.equal(readClientHello(zero).state, 'bad');
    const secondType = Buffer.from(bytes);
    secondType[at - 3] = 1;
    assert.equal(readClientHello(secondType).state, 'bad');
    const shorter = Buffer.from(bytes);
    shorter.writeUInt16BE(11, at - 2);
    assert.equal(readClientHello(shorter).state, 'bad');
    const two = Buffer.concat([bytes, bytes]);
    assert.equal(readClientHello(two).state, 'ok');
    const longer = Buffer.concat([bytes, Buffer.from([0])]);
    longer.writeUInt16BE(bytes.readUInt16BE(3) + 1, 3);
    assert.equal(readClientHello(longer).state, 'bad');
  });
  it('never throws, whatever it is given', async () => {
    const bytes = await hello({ servername: 'example.test' });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 8 }), (changes) => {
        const changed = Buffer.from(bytes);
        for (const [where, value] of changes) changed[where] = value;
        assert.ok(['more', 'bad', 'ok'].includes(readClientHello(changed).state));
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (any) => void readClientHello(Buffer.from(any))),
    );
  });
});
