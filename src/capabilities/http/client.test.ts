import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { createHttpKit, createHttpScope, onLoopback, textOf } from './servers-for-tests.ts';

const { server, capability, request, closeAll } = createHttpKit();
afterEach(closeAll);

describe('HttpHandle.request', () => {
  it('sends what it was given and answers with what came', async () => {
    const { origin } = await server(async (got, answer) => {
      const body = (await got.toArray()).join('');
      answer.setHeader('X-Many', ['a', 'b']);
      answer.end(JSON.stringify({ method: got.method, url: got.url, headers: got.headers, body }));
    });
    const headers = { 'X-One': 'é', Authorization: 'Bearer t' };
    const answer = await request({ url: `${origin}/a?b=c#d`, method: 'post', headers, body: 'hällo' });
    const seen = JSON.parse(textOf(answer.body));
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
    assert.deepEqual(scope.admitted, [
      { kind: 'net.connect', scheme: 'http', host: '127.0.0.1', port, method: 'GET' },
    ]);
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
    assert.equal(textOf(named.body), 'ok');
  });

  it('connects to the address that was checked, whatever the name says afterwards', async () => {
    const { port } = await server((got, answer) => answer.end(got.headers.host));
    let asked = 0;
    // The first answer is good for the request; whoever asked again for the connection would be led elsewhere.
    const lookup = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.9', family: 4 as const }];
    const answer = await request({ url: `http://rebind.test:${port}/` }, {}, { lookup });
    assert.deepEqual([asked, answer.address, textOf(answer.body)], [1, '127.0.0.1', `rebind.test:${port}`]);
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

  it('does not use a kept connection for a call whose policy no longer names the host as private', async () => {
    const { origin, port, connections } = await server((_, answer) => answer.end());
    const { open } = capability();
    await open(createHttpScope()).request({ url: origin });
    const withdrawn = createHttpScope({ domains: [`127.0.0.1:${port}`] });
    await assert.rejects(open(withdrawn).request({ url: origin }), { reason: 'http.address' });
    assert.equal(connections.made, 1);
  });

  it('does not trust a connection that was idle with a request that cannot be sent again', async (context) => {
    const { origin, connections } = await server((_, answer) => answer.end());
    const http = capability().open(createHttpScope());
    await http.request({ url: origin });
    const { now } = performance;
    context.mock.method(performance, 'now', () => now.call(performance) + 2_000);
    await http.request({ url: origin, method: 'POST' });
    await http.request({ url: origin, method: 'POST' });
    assert.equal(connections.made, 2);
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
      assert.equal(textOf((await request({ url: origin })).body), 'direct');
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
