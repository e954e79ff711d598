import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createHttpCapability } from '../../capabilities/http/handle.ts';
import { createHttpKit, onLoopback } from '../../capabilities/http/servers-for-tests.ts';
import type { JsonObject } from '../../contract/json.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { createDefaultRuntime } from '../../preset/default.ts';
import { writeTrusted } from '../../preset/trust/trust-for-tests.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createToolHarness, type ToolHarness } from '../../testing/tool-harness-for-tests.ts';
import { curl } from './curl.ts';
import type { CurlData } from './run-curl.ts';

const { server, closeAll } = createHttpKit();
afterEach(closeAll);

describe('curl', () => {
  let harness: ToolHarness;
  const http = createHttpCapability({ lookup: onLoopback });
  before(async () => {
    harness = await createToolHarness({
      capabilities: { http: http.open },
      openObjects: (folder) => openObjectStore({ folder, process: 'test' }),
      schemas: createSchemaCompiler(),
    });
  });
  after(async () => {
    await http.close();
    harness.close();
  });
  const privateHost = () => true;
  const call = (args: JsonObject) => harness.call(curl, args, { privateHost });
  const refuse = (args: JsonObject) => harness.refuse(curl, args, { privateHost });
  const decoded = (text: string) => Buffer.from(text, 'base64').toString();

  it('answers as the contract says, with the effect that its URL has', async () => {
    const { origin, port } = await server((got, answer) => {
      answer
        .setHeader('content-type', 'text/plain')
        .setHeader('date', 'now')
        .end(`${got.method} ${got.url} ${got.headers['user-agent']}`);
    });
    const { data, effects } = await call({
      method: 'GET',
      url: `${origin}/std/?q=1`,
      headers: { 'User-Agent': 'tool-runtime-sdk/1.0' },
      body: null,
      timeout_ms: 15_000,
      max_bytes: 5_242_880,
    });
    assert.equal(data.status, 200);
    assert.equal(data.headers['content-type'], 'text/plain');
    assert.equal(decoded(data.body_b64), 'GET /std/?q=1 tool-runtime-sdk/1.0');
    assert.deepEqual([data.truncated, data.url, data.redirects], [false, `${origin}/std/?q=1`, []]);
    assert.ok(data.timings.total_ms > 0 && data.timings.connect_ms > 0 && !data.timings.reused);
    assert.equal('artifact' in data, false);
    assert.deepEqual(effects, [
      { kind: 'net.connect', scheme: 'http', host: '127.0.0.1', port, method: 'GET' },
    ]);
  });

  it('declares the host as it is looked up, whatever its spelling', async () => {
    const effect = async (url: string) =>
      (await curl.effects({ url, method: 'GET' } as never, undefined as never))[0];
    const at = (scheme: string, host: string, port: number) => ({
      kind: 'net.connect',
      scheme,
      host,
      port,
      method: 'GET',
    });
    assert.deepEqual(await effect('HTTPS://EXAMPLE.org./x'), at('https', 'example.org', 443));
    assert.deepEqual(await effect('http://0x7f.1:8080/'), at('http', '127.0.0.1', 8080));
    assert.throws(() => curl.effects({ url: 'file:///etc/passwd' } as never, undefined as never), {
      reason: 'http.url',
    });
  });

  it('sends text and bytes', async () => {
    const { origin } = await server(async (got, answer) =>
      answer.end(Buffer.concat(await got.toArray()).toString('hex')),
    );
    const sent = async (args: JsonObject) =>
      decoded((await call({ url: origin, method: 'POST', ...args })).data.body_b64);
    assert.equal(await sent({ body: 'é' }), 'c3a9');
    assert.equal(await sent({ body_b64: 'AP8=' }), '00ff');
    assert.equal(await sent({ body: null }), '');
    assert.equal((await refuse({ url: origin, body: 'a', body_b64: 'AA==' })).reason, 'input.schema');
    assert.equal((await refuse({ url: origin, body_b64: 'no base64!' })).reason, 'input.encoding');
  });

  it('shows which cookies were set and not what they hold, and no other credentials', async () => {
    const key = `ghp_${'a1B2'.repeat(9)}`;
    const { origin } = await server((got, answer) => {
      if (got.url === '/') answer.writeHead(302, { location: '/end?access_token=hush&page=2' }).end();
      else {
        answer.setHeader('set-cookie', ['sid=hush; Path=/; HttpOnly', 'lang=de', 'hush; Path=/']);
        answer.setHeader('x-api-key', 'hush');
        answer.setHeader('x-note', `key ${key}`).setHeader('etag', '"abc"').end('hush');
      }
    });
    const { data } = await call({ url: origin });
    assert.deepEqual(data.headers['set-cookie'], [
      'sid=[redacted]; Path=/; HttpOnly',
      'lang=[redacted]',
      '[redacted]; Path=/',
    ]);
    assert.deepEqual(
      [data.headers['x-api-key'], data.headers['x-note'], data.headers.etag],
      ['[redacted]', 'key [redacted]', '"abc"'],
    );
    assert.equal(data.url, `${origin}/end?access_token=[redacted]&page=2`);
    assert.deepEqual(data.redirects, [{ status: 302, url: `${origin}/` }]);
    const { body_b64: _, ...rest } = data;
    assert.doesNotMatch(JSON.stringify(rest), /hush|ghp_/);
  });

  it('answers a redirect where it is not to be followed', async () => {
    const { origin } = await server((_, answer) => answer.writeHead(301, { location: '/next' }).end());
    const { data } = await call({ url: origin, follow_redirects: false });
    assert.deepEqual([data.status, data.headers.location], [301, '/next']);
  });

  it('cuts a large body, and keeps it whole where asked', async () => {
    const body = 'y'.repeat(6 * 1024 * 1024);
    const { origin } = await server((_, answer) =>
      answer.setHeader('content-encoding', 'gzip').end(gzipSync(body)),
    );
    const cut = (await call({ url: origin })).data;
    assert.deepEqual([cut.truncated, Buffer.from(cut.body_b64, 'base64').length], [true, 5_242_880]);
    const { data } = await call({ url: origin, max_bytes: 10, to_artifact: true });
    assert.deepEqual(
      [data.truncated, decoded(data.body_b64), data.artifact?.size],
      [true, 'yyyyyyyyyy', body.length],
    );
    assert.equal(Buffer.from(await harness.objects.get(data.artifact!.id)).toString(), body);
  });

  it('refuses what is not allowed, private, malformed or over its limits', async () => {
    const { origin } = await server((_, answer) => answer.end());
    const unnamed = await harness.refuse(curl, { url: origin });
    assert.equal(unnamed.reason, 'http.address');
    const denied = await harness.refuse(curl, { url: origin }, { denies: () => true });
    assert.equal(denied.reason, 'policy.denied');
    assert.equal((await refuse({ url: 'http://u:p@a.test/' })).reason, 'http.url');
    assert.equal((await refuse({ url: origin, headers: { Host: 'x' } })).reason, 'http.header');
    for (const args of [
      { method: 'TRACE' },
      { timeout_ms: 15_001 },
      { max_bytes: 5_242_881 },
      { headers: { a: 1 } },
      { url: '' },
      { extra: 1 },
    ])
      assert.equal((await refuse({ url: origin, ...args })).reason, 'input.schema');
  });

  it('ends when its time is up', async () => {
    const { origin } = await server(() => {});
    assert.equal((await refuse({ url: origin, timeout_ms: 100 })).reason, 'time.deadline');
  });
});

describe('curl in a runtime', () => {
  let workspace: string;
  before(() => {
    workspace = mkdtempSync(join(tmpdir(), 'haft-curl-'));
  });
  after(() => rmSync(workspace, { recursive: true }));

  /** The answer of one call under this list of domains. */
  async function call(domains: string, url: string) {
    writeTrusted(join(workspace, 'haft.yaml'), `version: 1\nnetwork: {allowed_domains: [${domains}]}\n`);
    const runtime = await createDefaultRuntime({ workspace });
    try {
      return await runtime.call({ tool: 'curl', args: { url } });
    } finally {
      await runtime.close();
    }
  }

  it('is denied where no rule names the host, with the line that would allow it', async () => {
    const { ok, errors } = await call('doc.example.org', 'https://crates.io/');
    assert.deepEqual([ok, errors[0]?.code, errors[0]?.reason], [false, 'E_POLICY', 'http.not_allowed']);
    assert.match(String(errors[0]?.details?.admit), /crates\.io/);
  });

  it('reaches loopback only where the rule says that the host is private', async () => {
    const { port, origin, connections } = await server((_, answer) => answer.end('local'));
    const named = await call(`"127.0.0.1:${port}"`, origin);
    assert.deepEqual([named.ok, named.errors[0]?.reason, connections.made], [false, 'http.address', 0]);
    const admitted = await call(`{domain: "127.0.0.1:${port}", private: true}`, origin);
    assert.equal((admitted.data as CurlData).body_b64, Buffer.from('local').toString('base64'));
  });

  it('follows a redirect only to a host that is named too', async () => {
    const end = await server((_, answer) => answer.end('end'));
    const { port, origin } = await server((_, answer) =>
      answer.writeHead(302, { location: end.origin }).end(),
    );
    const first = `{domain: "127.0.0.1:${port}", private: true}`;
    const strayed = await call(first, origin);
    assert.deepEqual([strayed.errors[0]?.reason, end.connections.made], ['http.not_allowed', 0]);
    const both = await call(`${first}, {domain: "127.0.0.1:${end.port}", private: true}`, origin);
    assert.equal((both.data as CurlData).url, `${end.origin}/`);
  });
});
