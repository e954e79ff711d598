import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
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
import type { HttpRequest } from '../../contract/http.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createHttpCapability, type HttpCapability, type HttpCapabilityOptions } from './handle.ts';
import {
  createAuthority,
  createHttpScope,
  eventually,
  type HttpScopeOptions,
  startServer,
  startTcpServer,
  startTlsServer,
  type TestAuthority,
  type TestServer,
} from './servers-for-tests.ts';

type Route = (request: IncomingMessage, response: ServerResponse) => void;

const cleanups: (() => unknown)[] = [];
const opened = <T extends { close(): unknown }>(thing: T): T => {
  cleanups.push(() => thing.close());
  return thing;
};
const server = async (route: Route): Promise<TestServer> => opened(await startServer(route));
const capability = (options: HttpCapabilityOptions = {}): HttpCapability =>
  opened(createHttpCapability(options));
const request = (sent: HttpRequest, scope: HttpScopeOptions = {}, options: HttpCapabilityOptions = {}) =>
  capability(options).open(createHttpScope(scope)).request(sent);
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const onLoopback = async () => [{ address: '127.0.0.1', family: 4 as const }];

afterEach(async () => {
  for (const close of cleanups.splice(0).reverse()) await close();
});

describe('HttpHandle.request', () => {
  it('sends what it was given and answers with what came', async () => {
    const { origin } = await server(async (got, answer) => {
      const body = (await got.toArray()).join('');
      answer.setHeader('X-Many', ['a', 'b']);
      answer.end(JSON.stringify({ method: got.method, url: got.url, headers: got.headers, body }));
    });
    const headers = { 'X-One': 'é', Authorization: 'Bearer t' };
    const answer = await request({ url: `${origin}/a?b=c#d`, method: 'post', headers, body: 'hällo' });
    const seen = JSON.parse(text(answer.body));
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.headers['x-many'], ['a', 'b']);
    assert.deepEqual([seen.method, seen.url, seen.body], ['POST', '/a?b=c', 'hällo']);
    assert.equal(seen.headers.authorization, 'Bearer t');
    assert.equal(seen.headers['x-one'], 'é');
    assert.match(seen.headers['user-agent'], /^haft\//);
    assert.equal(seen.headers['content-length'], '6');
    assert.deepEqual([answer.url, answer.attempts, answer.truncated], [`${origin}/a?b=c`, 1, false]);
    assert.equal(answer.address, '127.0.0.1');
    assert.ok(answer.timings.total >= answer.timings.firstByte && answer.timings.connect > 0);
  });

  it('asks policy with the effect of the URL before anything else', async () => {
    const { origin, port, connections } = await server((_, answer) => answer.end());
    const scope = createHttpScope({ domains: ['example.org'] });
    const { open } = capability();
    await assert.rejects(open(scope).request({ url: origin }), { reason: 'http.not_allowed' });
    assert.deepEqual(scope.admitted, [{ kind: 'net.connect', scheme: 'http', host: '127.0.0.1', port }]);
    assert.equal(connections.made, 0);
  });

  it('refuses loopback in every spelling unless policy names the host as private', async () => {
    const { port, connections } = await server((_, answer) => answer.end('ok'));
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '127.1.',
      'named.test',
    ]) {
      const sent = request(
        { url: `http://${host}:${port}/` },
        { domains: [`127.0.0.1:${port}`, `named.test:${port}`, `[::ffff:7f00:1]:${port}`] },
        { lookup: onLoopback },
      );
      await assert.rejects(sent, { reason: 'http.address' }, host);
    }
    assert.equal(connections.made, 0);
    const named = await request(
      { url: `http://named.test:${port}/` },
      { domains: [`!named.test:${port}`] },
      { lookup: onLoopback },
    );
    assert.equal(text(named.body), 'ok');
  });

  it('connects to the address that was checked, whatever the name says afterwards', async () => {
    const { port } = await server((got, answer) => answer.end(got.headers.host));
    let asked = 0;
    // The first answer is good for the request; whoever asked again for the connection would be led elsewhere.
    const lookup = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.9', family: 4 as const }];
    const answer = await request({ url: `http://rebind.test:${port}/` }, {}, { lookup });
    assert.deepEqual([asked, answer.address, text(answer.body)], [1, '127.0.0.1', `rebind.test:${port}`]);
  });

  it('does not use a kept connection once its name leads elsewhere', async () => {
    const { port, connections } = await server((_, answer) => answer.end());
    const answers = ['127.0.0.1', '169.254.169.254', '127.0.0.1'];
    const lookup = async () => [{ address: answers.shift()!, family: 4 as const }];
    const http = capability({ lookup, keepAddressesMs: 0 }).open(createHttpScope());
    const url = `http://rebind.test:${port}/`;
    await http.request({ url });
    await assert.rejects(http.request({ url }), { reason: 'http.address' });
    await http.request({ url });
    assert.equal(connections.made, 1);
  });

  it('shares no connection between two names of one address', async () => {
    const { port, connections } = await server((got, answer) => answer.end(got.headers.host));
    const http = capability({ lookup: onLoopback }).open(createHttpScope());
    for (const host of ['a.test', 'b.test', 'a.test', 'b.test'])
      await http.request({ url: `http://${host}:${port}/` });
    assert.equal(connections.made, 2);
  });

  it('keeps a connection for the next request, and says so', async () => {
    const { origin, connections } = await server((_, answer) => answer.end('x'));
    const http = capability().open(createHttpScope());
    const first = await http.request({ url: origin });
    const second = await http.request({ url: origin });
    assert.deepEqual([first.timings.reused, second.timings.reused, second.timings.connect], [false, true, 0]);
    assert.equal(connections.made, 1);
  });

  it('opens no more connections to a host than it may', async () => {
    let now = 0;
    let most = 0;
    const { origin, connections } = await server((_, answer) => {
      now += 1;
      most = Math.max(most, now);
      setImmediate(() => {
        now -= 1;
        answer.end();
      });
    });
    const http = capability({ maxConnectionsPerHost: 2 }).open(createHttpScope());
    await Promise.all(Array.from({ length: 10 }, () => http.request({ url: origin })));
    assert.deepEqual([most <= 2, connections.made <= 2], [true, true]);
  });

  it('ignores proxies of the environment', async () => {
    const trap = await server((_, answer) => answer.end('trap'));
    const { origin } = await server((_, answer) => answer.end('direct'));
    const names = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'all_proxy', 'NODE_USE_ENV_PROXY'];
    for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : trap.origin;
    try {
      assert.equal(text((await request({ url: origin })).body), 'direct');
    } finally {
      for (const name of names) delete process.env[name];
    }
    assert.equal(trap.connections.made, 0);
  });

  const BAD_HEADERS: { readonly [name: string]: string } = {
    Host: 'evil.test',
    'Content-Length': '5',
    'transfer-encoding': 'chunked',
    Connection: 'close',
    'Proxy-Authorization': 'x',
    Upgrade: 'h2c',
    TE: 'trailers',
    Expect: '100-continue',
    'X-A': 'a\r\nX-B: b',
    'X-C': 'a\nb',
    'X-D': 'a\0b',
    'X-E': 'snow ☃',
    'X F': 'a',
    'X-G:': 'a',
    '': 'a',
  };
  for (const [name, value] of Object.entries(BAD_HEADERS))
    it(`refuses the header ${JSON.stringify({ [name]: value })}`, async () => {
      await assert.rejects(request({ url: 'http://127.0.0.1:1/', headers: { [name]: value } }), {
        reason: 'http.header',
      });
    });
  it('refuses methods that open tunnels or echo', async () => {
    for (const method of ['CONNECT', 'TRACE', 'GET / HTTP/1.1\r\nX: y', ''])
      await assert.rejects(request({ url: 'http://127.0.0.1:1/', method }), { reason: 'http.url' });
  });
});

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
      assert.equal(text(answer.body), plain.toString());
      assert.equal(answer.headers['content-encoding'], encoding === 'identity' ? 'identity' : undefined);
    });

  it('leaves an encoding that it does not know as it came', async () => {
    const { origin } = await server((_, answer) => answer.setHeader('content-encoding', 'sdch').end('as is'));
    const answer = await request({ url: origin });
    assert.deepEqual([text(answer.body), answer.headers['content-encoding']], ['as is', 'sdch']);
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
      assert.equal(text(await store.get(answer.artifact!.id)), 'at the end');
    });
  });
});

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
  const flaky = (failures: number, fail: Route) => {
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
        (status): Route =>
          (_, answer) =>
            answer.writeHead(status).end(),
      ),
      ((got) => got.socket.destroy()) as Route,
    ]) {
      const { origin } = await flaky(2, fail);
      const answer = await request({ url: origin, method: 'PUT', body: 'b' });
      assert.deepEqual([answer.status, answer.attempts, text(answer.body)], [200, 3, '3']);
    }
  });
  it('answers with the last failure when the tries are used up, body included', async () => {
    const { origin } = await flaky(9, (_, answer) => answer.writeHead(503).end('down'));
    const answer = await request({ url: origin });
    assert.deepEqual([answer.status, answer.attempts, text(answer.body)], [503, 3, 'down']);
  });
  it('does not wait for a server that asks for more time than there is', async () => {
    const { origin } = await flaky(9, (_, answer) =>
      answer.writeHead(503, { 'retry-after': '3600' }).end('later'),
    );
    const answer = await request({ url: origin });
    assert.deepEqual([answer.status, answer.attempts, text(answer.body)], [503, 1, 'later']);
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
    assert.equal(text(named.body), 'safe');
    assert.ok(named.timings.tls > 0 && named.timings.connect > 0);
    assert.equal(text((await ask('127.0.0.1', port)).body), 'safe');
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
