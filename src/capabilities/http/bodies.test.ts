import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  brotliCompressSync,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { eventually } from '../../../test/support/eventually.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createHttpKit, startTcpServer, textOf } from './servers-for-tests.ts';

const { server, opened, request, closeAll } = createHttpKit();
afterEach(closeAll);

describe('bodies', () => {
  const plain = Buffer.from('some text that repeats, '.repeat(200));
  const ENCODED: { readonly [encoding: string]: Buffer } = {
    gzip: gzipSync(plain),
    'x-gzip': gzipSync(plain),
    br: brotliCompressSync(plain),
    deflate: deflateSync(plain),
    'Deflate ': deflateRawSync(plain),
    zstd: zstdCompressSync(plain),
    'gzip, br': brotliCompressSync(gzipSync(plain)),
    identity: plain,
  };
  for (const [encoding, bytes] of Object.entries(ENCODED))
    it(`decodes ${encoding}`, async () => {
      const { origin } = await server((_, answer) =>
        answer.setHeader('content-encoding', encoding).end(bytes),
      );
      const answer = await request({ url: origin });
      assert.equal(textOf(answer.body), plain.toString());
      assert.equal(answer.headers['content-encoding'], encoding === 'identity' ? 'identity' : undefined);
    });

  it('leaves an encoding that it does not know as it came', async () => {
    const { origin } = await server((_, answer) => answer.setHeader('content-encoding', 'sdch').end('as is'));
    const answer = await request({ url: origin });
    assert.deepEqual([textOf(answer.body), answer.headers['content-encoding']], ['as is', 'sdch']);
  });

  it('takes an empty body for empty, whatever its encoding', async () => {
    const { origin } = await server((got, answer) => {
      answer.setHeader('content-encoding', 'gzip');
      if (got.method === 'HEAD') answer.setHeader('content-length', 20);
      answer.end();
    });
    assert.equal((await request({ url: origin })).body.length, 0);
    const head = await request({ url: origin, method: 'HEAD' });
    assert.deepEqual(
      [head.body.length, head.headers['content-encoding'], head.headers['content-length']],
      [0, 'gzip', '20'],
    );
  });

  it('cuts a body at max_bytes, says so and hangs up', async () => {
    const { origin, connections } = await server((_, answer) => {
      const more = () => {
        while (!answer.destroyed && answer.write('x'.repeat(65536)));
      };
      answer.on('drain', more);
      more();
    });
    const answer = await request({ url: origin, maxBytes: 100_000 });
    assert.deepEqual([answer.body.length, answer.truncated], [100_000, true]);
    await eventually(() => connections.open.size === 0, 'the connection closes');
  });

  it('does not call a body truncated that is exactly as long as it may be', async () => {
    const { origin } = await server((got, answer) => {
      const body = 'x'.repeat(1000);
      if (got.url === '/z') answer.setHeader('content-encoding', 'gzip').end(gzipSync(body));
      else answer.end(body);
    });
    for (const path of ['/', '/z']) {
      const answer = await request({ url: origin + path, maxBytes: 1000 });
      assert.deepEqual([answer.body.length, answer.truncated], [1000, false]);
    }
    assert.equal((await request({ url: origin, maxBytes: 0 })).truncated, true);
  });

  it('stops a bomb at max_bytes of what it becomes', async () => {
    let written = 0;
    const { origin, connections } = await server((_, answer) => {
      answer.setHeader('content-encoding', 'gzip');
      const zip = createGzip({ level: 9 });
      const zeros = Buffer.alloc(1 << 20);
      zip.on('error', () => {});
      zip.pipe(answer);
      answer.on('close', () => zip.destroy());
      const more = () => {
        while (!zip.destroyed && written < 20_000) {
          written += 1;
          if (!zip.write(zeros)) return;
        }
      };
      zip.on('drain', more);
      more();
    });
    const answer = await request({ url: origin, maxBytes: 1_000_000 });
    assert.deepEqual([answer.body.length, answer.truncated], [1_000_000, true]);
    await eventually(() => connections.open.size === 0, 'the connection closes');
    assert.ok(written < 20_000, 'twenty gigabytes were not asked for');
  });

  it('refuses a body that is not in the encoding that it names', async () => {
    const { origin } = await server((got, answer) => {
      const zipped = gzipSync(plain);
      answer.setHeader('content-encoding', 'gzip');
      answer.end(got.url === '/cut' ? zipped.subarray(0, -20) : 'this is not gzip');
    });
    await assert.rejects(request({ url: origin }), {
      reason: 'http.failed',
      message: /encoding that it names/,
    });
    await assert.rejects(request({ url: `${origin}/cut` }), { reason: 'http.failed' });
  });

  it('refuses a body that ends too early', async () => {
    const cut = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this';
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n';
    for (const bytes of [cut, chunked]) {
      const { origin } = opened(
        await startTcpServer((socket) => socket.once('data', () => socket.end(bytes))),
      );
      await assert.rejects(request({ url: origin, retries: 0 }), { reason: 'http.failed' });
      await assert.rejects(request({ url: origin, method: 'POST' }), { reason: 'call.outcome_unknown' });
    }
  });

  it('refuses answers that two readers could read differently', async () => {
    const both =
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
    const twice = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!';
    for (const bytes of [both, twice, 'SSH-2.0-OpenSSH\r\n']) {
      const { origin } = opened(
        await startTcpServer((socket) => socket.once('data', () => socket.end(bytes))),
      );
      await assert.rejects(request({ url: origin }), {
        reason: 'http.failed',
        message: /not HTTP|not as long as it says/,
      });
    }
  });

  describe('with toArtifact', () => {
    let folder: string;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), 'haft-http-'));
    });
    after(() => rmSync(folder, { recursive: true, force: true }));
    const objects = () => openObjectStore({ folder, process: 'test' });

    it('keeps the whole decoded body, and answers with its beginning', async () => {
      const body = Buffer.alloc(3_000_000, 'abcdefg');
      for (const encoding of ['identity', 'gzip']) {
        const sent = encoding === 'gzip' ? gzipSync(body) : body;
        const { origin } = await server((_, answer) =>
          answer.setHeader('content-encoding', encoding).end(sent),
        );
        const store = objects();
        const answer = await request({ url: origin, maxBytes: 1000, toArtifact: true }, { objects: store });
        assert.deepEqual([answer.body.length, answer.truncated], [1000, true]);
        assert.deepEqual([answer.artifact?.size, answer.artifact?.truncated], [body.length, false]);
        assert.ok(body.equals(await store.get(answer.artifact!.id)));
      }
    });
    it('stops at the limit of artifacts, and says so', async () => {
      const { origin } = await server((_, answer) => answer.end(Buffer.alloc(500_000)));
      const answer = await request(
        { url: origin, maxBytes: 10, toArtifact: true },
        { objects: objects() },
        { maxArtifactBytes: 100_000 },
      );
      assert.deepEqual([answer.artifact?.size, answer.artifact?.truncated], [100_000, true]);
    });
    it('keeps none of a redirect', async () => {
      const { origin } = await server((got, answer) =>
        got.url === '/'
          ? answer.writeHead(302, { location: '/end' }).end('on the way')
          : answer.end('at the end'),
      );
      const store = objects();
      const answer = await request({ url: origin, toArtifact: true }, { objects: store });
      assert.equal(textOf(await store.get(answer.artifact!.id)), 'at the end');
    });
  });
});
