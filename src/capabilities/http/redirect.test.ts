import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import type { HttpRequest } from '../../contract/http.ts';
import type { HttpClientOptions } from './client.ts';
import { createHttpCapability } from './handle.ts';
import { createAuthority, createHttpKit, createHttpScope, startTlsServer } from './servers-for-tests.ts';

const { server, opened, closeAll } = createHttpKit();
afterEach(closeAll);

/** Answers what it got, as JSON. */
const mirror: RequestListener = async (got, answer) => {
  const body = (await got.toArray()).join('');
  answer.end(JSON.stringify({ method: got.method, headers: got.headers, body, url: got.url }));
};
const leadsTo =
  (location: string, status = 302): RequestListener =>
  (_, answer) =>
    answer.writeHead(status, { location }).end('moved');

function request(sent: HttpRequest, domains?: readonly string[], options: HttpClientOptions = {}) {
  const scope = createHttpScope(domains ? { domains } : {});
  const answer = opened(createHttpCapability(options)).open(scope).request(sent);
  return { scope, answer };
}
const seen = (body: Uint8Array) => JSON.parse(Buffer.from(body).toString());

describe('redirects', () => {
  it('are followed, relative ones too, and told', async () => {
    const { origin } = await server((got, answer) => {
      if (got.url === '/a/one?q') leadsTo('two')(got, answer);
      else if (got.url === '/a/two') leadsTo('/three#part', 307)(got, answer);
      else mirror(got, answer);
    });
    const answer = await request({ url: `${origin}/a/one?q` }).answer;
    assert.equal(answer.url, `${origin}/three`);
    assert.deepEqual(answer.redirects, [
      { status: 302, url: `${origin}/a/one?q` },
      { status: 307, url: `${origin}/a/two` },
    ]);
    assert.equal(seen(answer.body).url, '/three');
  });

  it('are followed three times and no more', async () => {
    const { origin } = await server((got, answer) =>
      leadsTo(`/${Number(got.url?.slice(1)) + 1}`)(got, answer),
    );
    await assert.rejects(request({ url: `${origin}/0` }).answer, { reason: 'http.redirects' });
    const one = request({ url: `${origin}/0`, maxRedirects: 1 }).answer;
    await assert.rejects(one, { reason: 'http.redirects' });
    const none = await request({ url: `${origin}/0`, maxRedirects: 0 }).answer;
    assert.deepEqual(
      [none.status, none.headers.location, Buffer.from(none.body).toString()],
      [302, '/1', 'moved'],
    );
    await assert.rejects(request({ url: `${origin}/0`, maxRedirects: 99 }).answer, {
      reason: 'http.redirects',
    });
  });

  it('ask policy for every hop, as a place that the first one led to', async () => {
    const target = await server(mirror);
    const { port } = await server(leadsTo(`${target.origin}/x`));
    const allowed = request({ url: `http://127.0.0.1:${port}/` });
    await allowed.answer;
    assert.deepEqual(
      allowed.scope.admitted.map((effect) => 'port' in effect && effect.port),
      [port, target.port],
    );
    const { made } = target.connections;
    const denied = request({ url: `http://127.0.0.1:${port}/` }, [`!127.0.0.1:${port}`]).answer;
    await assert.rejects(denied, { reason: 'http.not_allowed' });
    assert.equal(target.connections.made, made);
  });

  for (const host of [
    '169.254.169.254',
    '[::ffff:a9fe:a9fe]',
    '2852039166',
    'metadata.test',
    '0.0.0.0',
    '[::]',
    '10.0.0.1',
  ]) {
    it(`do not lead to ${host}, although its name is allowed`, async () => {
      const { port } = await server(leadsTo(`http://${host}/latest/meta-data/`));
      const domains = [
        `!127.0.0.1:${port}`,
        '169.254.169.254',
        '[::ffff:a9fe:a9fe]',
        'metadata.test',
        '0.0.0.0',
        '[::]',
        '10.0.0.1',
      ];
      const lookup = async () => [{ address: '169.254.169.254', family: 4 as const }];
      const { answer } = request({ url: `http://127.0.0.1:${port}/` }, domains, { lookup });
      await assert.rejects(answer, { reason: 'http.address' });
    });
  }

  for (const location of [
    'file:///etc/passwd',
    'ftp://127.0.0.1/',
    'http://user:pass@127.0.0.1/',
    'javascript:1',
    'http://',
  ])
    it(`do not lead to ${location}`, async () => {
      const { origin } = await server(leadsTo(location));
      await assert.rejects(request({ url: origin }).answer, { reason: 'http.url' });
    });

  it('without a place to go, or to an empty one, are answers', async () => {
    const { origin } = await server((got, answer) =>
      answer.writeHead(302, got.url === '/' ? {} : { location: '' }).end(),
    );
    assert.equal((await request({ url: origin }).answer).status, 302);
    assert.equal((await request({ url: `${origin}/e` }).answer).status, 302);
  });

  it('carry every header to the same origin, and to another only what says nothing of who asks', async () => {
    const other = await server(mirror);
    const { origin } = await server((got, answer) => {
      if (got.url === '/away') leadsTo(`${other.origin}/`)(got, answer);
      else if (got.url === '/back') leadsTo(`${other.origin}/back`)(got, answer);
      else if (got.url === '/here') leadsTo('/end')(got, answer);
      else mirror(got, answer);
    });
    const secret = {
      ...{
        authorization: 'Bearer t',
        cookie: 'a=b',
        cookie2: 'a=b',
        'x-api-key': 'k',
        referer: 'r',
        origin: 'o',
      },
      ...{ 'x-bearer': 'b', dpop: 'd', 'ocp-apim-subscription-key': 's', 'x-goog-iap-jwt-assertion': 'j' },
      ...{ 'private-token': 'p', 'x-amz-security-token': 'x', 'x-vault-namespace': 'v', sid: 's', jwt: 'j' },
      ...{ 'x-plain': 'p', 'x-forwarded-user': 'me', forwarded: 'for=1', from: 'me@a.test', signature: 's' },
    };
    const harmless = {
      ...{ accept: 'text/html', 'accept-language': 'de', 'user-agent': 'me/1', range: 'bytes=0-9' },
      ...{ 'if-none-match': '"e"', 'cache-control': 'no-cache' },
    };
    const headers = { ...secret, ...harmless };
    const got = async (path: string) =>
      seen((await request({ url: `${origin}${path}`, headers }).answer).body).headers;
    const picked = (from: Record<string, string>, names: object) =>
      Object.fromEntries(Object.keys(names).flatMap((name) => (name in from ? [[name, from[name]]] : [])));
    const here = await got('/here');
    assert.deepEqual(picked(here, headers), headers);
    const away = await got('/away');
    assert.deepEqual(picked(away, secret), {});
    assert.deepEqual(picked(away, harmless), harmless);
  });

  it('do not bring back, on the way home, what was left behind', async () => {
    let home = '';
    const other = await server((got, answer) => leadsTo(`${home}/end`)(got, answer));
    const { origin } = await server((got, answer) => {
      if (got.url === '/') leadsTo(other.origin)(got, answer);
      else mirror(got, answer);
    });
    home = origin;
    const answer = await request({ url: origin, headers: { authorization: 'Bearer t' } }).answer;
    assert.equal(seen(answer.body).headers.authorization, undefined);
  });

  for (const [status, method] of [
    [307, 'POST'],
    [308, 'POST'],
    [307, 'PUT'],
    [301, 'PUT'],
    [302, 'PATCH'],
    [308, 'DELETE'],
  ] as const)
    it(`refuse to carry the body of ${method} to another origin for ${status}`, async () => {
      const other = await server(mirror);
      const { origin } = await server((got, answer) => {
        if (got.url === '/') leadsTo('/near', status)(got, answer);
        else leadsTo(`${other.origin}/`, status)(got, answer);
      });
      const { answer } = request({ url: origin, method, body: 'the secret plan' });
      await assert.rejects(answer, (thrown: Error & { reason: string; details: object }) => {
        assert.equal(thrown.reason, 'http.redirect_body');
        assert.deepEqual(thrown.details, { from: origin, to: other.origin });
        assert.ok(thrown.message.includes(other.origin));
        return true;
      });
      assert.equal(other.connections.made, 0);
    });

  it('lead a method without a body to another origin, and a body that becomes none', async () => {
    const other = await server(mirror);
    const { origin } = await server((got, answer) =>
      leadsTo(`${other.origin}/`, Number(got.url?.slice(1)))(got, answer),
    );
    const got = async (status: number, body?: string) => {
      const headers = { 'content-type': 'text/x' };
      const sent = { url: `${origin}/${status}`, method: 'POST', headers, ...(body ? { body } : {}) };
      return seen((await request(sent).answer).body);
    };
    for (const { method, body, headers } of [await got(303, 'b'), await got(302, 'b')])
      assert.deepEqual([method, body, headers['content-type']], ['GET', '', undefined]);
    assert.equal((await got(307)).method, 'POST');
  });

  const METHODS: readonly (readonly [number, string, string])[] = [
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [301, 'PUT', 'PUT'],
    [302, 'PATCH', 'PATCH'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
    [303, 'GET', 'GET'],
  ];
  for (const [status, method, becomes] of METHODS)
    it(`turn ${method} into ${becomes} for ${status}, with the body or without`, async () => {
      const { origin } = await server((got, answer) => {
        if (got.url === '/') leadsTo('/end', status)(got, answer);
        else mirror(got, answer);
      });
      const headers = { 'Content-Type': 'text/x' };
      const body = method === 'GET' ? {} : { body: 'b' };
      const got = seen((await request({ url: origin, method, headers, ...body }).answer).body);
      const kept = becomes === method && method !== 'GET';
      assert.deepEqual(
        [got.method, got.body, got.headers['content-type']],
        [becomes, kept ? 'b' : '', becomes === method ? 'text/x' : undefined],
      );
    });

  it('do not lead from https to http', async () => {
    const authority = opened(createAuthority());
    const plain = await server(mirror);
    const secure = opened(await startTlsServer(authority.issue('IP:127.0.0.1'), leadsTo(plain.origin)));
    const { answer } = request({ url: secure.origin }, undefined, { extraCa: [authority.ca] });
    await assert.rejects(answer, { reason: 'http.downgrade' });
    assert.equal(plain.connections.made, 0);
    const upward = await server(leadsTo(`${secure.origin}/`));
    await assert.rejects(request({ url: upward.origin }, undefined, { extraCa: [authority.ca] }).answer, {
      reason: 'http.downgrade',
    });
  });
});
