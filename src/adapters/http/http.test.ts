import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { createHttpCapability } from '../../capabilities/http/handle.ts';
import { createHttpScope, type HttpScopeOptions } from '../../capabilities/http/servers-for-tests.ts';
import type { Adapter, AdapterConnection, Invocation, InvocationResult } from '../../contract/adapter.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import { installationOf } from '../../contract/tools-for-tests.ts';
import { ToolpackLoader } from '../../loader/tool-yaml/toolpack-loader.ts';
import { adapterSuite } from '../../testing/adapter-suite.ts';
import { invocationOf, stillPace } from '../fixtures-for-tests.ts';
import { packFiles } from '../pack-for-tests.ts';
import { bindYamlTool } from '../yaml-filling.ts';
import { createHttpAdapter, type HttpAdapterHandles } from './http.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Route = (seen: Seen, response: ServerResponse) => void;

interface Opened {
  readonly adapter: Adapter;
  readonly connection: AdapterConnection;
  readonly tools: readonly BoundTool[];
  readonly origin: string;
  readonly seen: readonly Seen[];
  call(id: string, input?: unknown, rest?: Partial<Invocation>): Promise<InvocationResult>;
  /** Loses every connection that the service has. */
  crash(): void;
}

type Tools = readonly (readonly [id: string, execution: object, rest?: object])[];

async function withService<T>(
  route: Route,
  tools: (origin: string) => Tools,
  use: (opened: Opened) => Promise<T>,
  options: Partial<HttpAdapterHandles> & { config?: JsonObject; scope?: HttpScopeOptions } = {},
): Promise<T> {
  const { config = {}, scope, ...handles } = options;
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const one = { method: request.method, url: request.url, headers: request.headers, body };
    seen.push(one);
    route(one, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const root = mkdtempSync(join(tmpdir(), 'haft-http-tools-'));
  for (const [name, text] of Object.entries(packFiles(tools(origin)))) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const http = createHttpCapability();
  try {
    const loader = new ToolpackLoader();
    await loader.loadDir(join(root, 'packs/p'));
    const bound = loader.list().flatMap(bindYamlTool);
    const handlesFor = () => ({ exec: undefined as never, http: http.open(createHttpScope(scope)) });
    const adapter = createHttpAdapter({ handlesFor, ...handles });
    const connection = await adapter.open(installationOf('service', config), bound);
    try {
      return await use({
        adapter,
        connection,
        tools: bound,
        origin,
        seen,
        call: (id, input = {}, rest = {}) => connection.invoke(invocationOf(id, input, rest)),
        crash: () => server.closeAllConnections(),
      });
    } finally {
      await connection.close();
    }
  } finally {
    await http.close();
    server.closeAllConnections();
    server.close();
    rmSync(root, { recursive: true, force: true });
  }
}

const SUITE: Readonly<Record<string, Route>> = {
  '/echo': ({ body }, response) => response.end(body),
  '/fail': (_, response) =>
    response.writeHead(422).end('{"ok": false, "error": {"message": "failed as asked"}}'),
  '/big': (_, response) => response.end(JSON.stringify({ text: 'x'.repeat(256 * 1024) })),
  '/wait': (_, response) =>
    response.setHeader('content-type', 'application/x-ndjson').write('{"progress": 50}\n'),
};

adapterSuite('http', async () => {
  const over = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<Opened>();
  const closed = withService(
    (seen, response) => (SUITE[seen.url ?? ''] ?? ((_, r) => r.end()))(seen, response),
    (origin) =>
      Object.keys(SUITE).map((path) => [
        `p.${path.slice(1)}`,
        { kind: 'http', url: origin + path, method: 'POST' },
      ]),
    async (one) => {
      opened.resolve(one);
      await over.promise;
    },
  );
  closed.catch(opened.reject);
  const { connection, crash, seen } = await opened.promise;
  return {
    connection,
    tools: { echo: 'p.echo', fail: 'p.fail', wait: 'p.wait', big: 'p.big' },
    waits: () => seen.filter(({ url }) => url === '/wait').length,
    crash: async () => crash(),
    async close() {
      over.resolve();
      await closed;
    },
  };
});

const echo: Route = ({ method, url, body, headers }, response) => {
  const { authorization, 'x-mine': mine, 'content-type': type } = headers;
  response.end(JSON.stringify({ method, url, body, authorization, mine, type }));
};

describe('http', () => {
  it('sends what the templates say: method, url, headers, body and secrets', async () => {
    const rest = {
      templating: { engine: 'jinja2', context: { version_path: 'v2' } },
      credentials: { hub: { headers: { Authorization: 'Bearer {{ token }}' }, context: true } },
      config: { type: 'object' },
    };
    const tools = (origin: string): Tools => [
      [
        'p.full',
        {
          kind: 'http',
          method: 'PUT',
          url: `${origin}/{{ version_path }}/{{ input.name|urlencode }}?k={{ config.k }}`,
          headers: { 'X-Mine': '{{ input.n * 2 }}' },
          body: { name: '{{ input.name }}', list: ['{{ input.n }}', 3], flag: true },
        },
        rest,
      ],
      ['p.text', { kind: 'http', method: 'POST', url: `${origin}/t`, body: 'n={{ input.n }}' }, rest],
      ['p.input', { kind: 'http', method: 'POST', url: `${origin}/i` }],
      ['p.get', { kind: 'http', url: `${origin}/{{braces}}` }],
    ];
    await withService(
      echo,
      tools,
      async ({ call, connection }) => {
        const credentials = { hub: { token: 's3cret' } };
        const sent = async (id: string, input: object) => {
          const answer = await call(id, input, { credentials });
          assert.ok(answer.ok, JSON.stringify(answer));
          return answer.data as Record<string, unknown>;
        };
        assert.deepEqual(await sent('p.full', { name: 'a b/ü', n: 4 }), {
          method: 'PUT',
          url: '/v2/a%20b/%C3%BC?k=v',
          body: '{"flag":true,"list":["4",3],"name":"a b/ü"}',
          authorization: 'Bearer s3cret',
          mine: '8',
          type: 'application/json',
        });
        const text = await sent('p.text', { n: 1 });
        assert.deepEqual([text.body, text.type], ['n=1', undefined]);
        assert.equal((await sent('p.input', { a: [1] })).body, '{"a":[1]}');
        assert.equal((await sent('p.get', {})).url, '/%7B%7Bbraces%7D%7D');
        assert.equal((await connection.health(new AbortController().signal)).status, 'ready');
      },
      { config: { k: 'v' } },
    );
  });

  it('declares the host that the templates lead to, without secrets, and no scheme that caps do not name', async () => {
    const templating = { engine: 'jinja2' };
    const tools = (origin: string): Tools => [
      [
        'p.host',
        { kind: 'http', url: 'https://{{ input.host }}/x' },
        { templating, caps: { network: ['https'] } },
      ],
      ['p.plain', { kind: 'http', url: `${origin}/` }],
      ['p.only', { kind: 'http', url: '{{ input.url }}' }, { templating, caps: { network: ['https'] } }],
    ];
    await withService(echo, tools, async ({ adapter, tools: bound, call, seen }) => {
      const effects = async (id: string, args: object) => {
        const tool = bound.find(({ contract }) => contract.id === id) as BoundTool;
        const site = { place: (path: string) => path };
        return adapter.effects?.({ installation: installationOf('x', {}), tool, args, site });
      };
      assert.deepEqual(await effects('p.host', { host: 'api.example' }), [
        { kind: 'net.connect', scheme: 'https', host: 'api.example', port: 443 },
      ]);
      assert.equal((await effects('p.plain', {}))?.[0]?.kind, 'net.connect');
      const url = 'http://127.0.0.1:9/';
      await assert.rejects(async () => effects('p.only', { url }), { reason: 'policy.undeclared' });
      await assert.rejects(call('p.only', { url }), { reason: 'policy.undeclared' });
      await assert.rejects(call('p.only', { url: 'file:///etc/passwd' }), { reason: 'http.url' });
      assert.equal(seen.length, 0);
    });
  });

  it('is refused what policy does not allow, and private addresses', async () => {
    const tools = (origin: string): Tools => [['p.plain', { kind: 'http', url: `${origin}/` }]];
    const refused = (domains: readonly string[], reason: string) =>
      withService(echo, tools, ({ call }) => assert.rejects(call('p.plain'), { reason }), {
        scope: { domains },
      });
    await refused(['example.org'], 'http.not_allowed');
    await withService(echo, tools, async ({ call, origin }) => {
      const http = createHttpCapability();
      const domains = [origin.replace('http://', '')];
      const handles = { exec: undefined as never, http: http.open(createHttpScope({ domains })) };
      await assert.rejects(call('p.plain', {}, { handles }), { reason: 'http.address' });
      await http.close();
    });
  });

  it('answers what is no success as a failure, with its status and the beginning of its body', async () => {
    const tools = (origin: string): Tools =>
      ['404', '500', 'html', 'text', 'empty'].map((path) => [
        `p.s${path}`,
        { kind: 'http', url: `${origin}/${path}` },
        path === 'text' ? { outputSchema: { type: 'string' } } : {},
      ]);
    const route: Route = ({ url }, response) => {
      if (url === '/404') response.writeHead(404).end('no such thing');
      else if (url === '/500') response.writeHead(500).end(`{"error": "${'x'.repeat(5000)}"}`);
      else if (url === '/html') response.setHeader('content-type', 'text/html').end('<p>hello</p>');
      else if (url === '/text') response.end('plain words\n');
      else response.writeHead(204).end();
    };
    await withService(route, tools, async ({ call }) => {
      assert.deepEqual(await call('p.s404'), {
        ok: false,
        message: 'the service answers with HTTP 404',
        details: { status: 404, body: 'no such thing' },
      });
      const failed = (await call('p.s500')) as { details: { body: string } };
      assert.equal(failed.details.body.length, 2048);
      assert.deepEqual(await call('p.shtml'), {
        ok: false,
        message: 'the answer is not JSON (text/html)',
        details: { status: 200, body: '<p>hello</p>' },
      });
      assert.deepEqual(await call('p.stext'), { ok: true, data: 'plain words' });
      assert.deepEqual(await call('p.sempty'), { ok: true, data: null });
    });
  });

  it('refuses an answer over the limit without taking all of it', async () => {
    const limits = { maxInputBytes: 1000, maxOutputBytes: 1000 };
    let written = 0;
    const route: Route = (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) written += 65_536;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    await withService(
      route,
      (origin) => [['p.endless', { kind: 'http', url: `${origin}/` }, { limits }]],
      async ({ call }) => {
        await assert.rejects(call('p.endless'), { reason: 'output.too_large' });
        assert.ok(written < 64 * 1024 * 1024);
      },
    );
  });

  it('ends with its time', async () => {
    await withService(
      () => {},
      (origin) => [['p.slow', { kind: 'http', url: `${origin}/` }, { timeoutMs: 100 }]],
      ({ call }) => assert.rejects(call('p.slow'), { reason: 'time.deadline' }),
    );
  });
});

describe('http, tried again', () => {
  const retry = { attempts: 3, delayMs: 100, maxDelayMs: 1000, factor: 2, onStatus: [503] };

  it('sends an idempotent request again after the statuses that its plan names, with jittered delays', async () => {
    let asked = 0;
    const route: Route = (_, response) => response.writeHead(++asked < 3 ? 503 : 200).end(`${asked}`);
    const scheduler = stillPace(0);
    await withService(
      route,
      (origin) => [['p.get', { kind: 'http', url: `${origin}/` }, { retry }]],
      async ({ call }) => {
        assert.deepEqual(await call('p.get'), { ok: true, data: 3 });
        assert.deepEqual(scheduler.slept, [50, 100]);
        asked = -10;
        const failed = await call('p.get');
        assert.ok(!failed.ok && failed.message.includes('HTTP 503'));
        assert.equal(asked, -7, 'three attempts, and the last answer is the answer');
      },
      { scheduler },
    );
  });

  it('sends nothing again that may have arrived, unless it is idempotent', async () => {
    let asked = 0;
    const route: Route = (_, response) => {
      asked++;
      response.destroy();
    };
    const tools = (origin: string): Tools => [
      ['p.post', { kind: 'http', url: `${origin}/`, method: 'POST' }, { retry }],
      ['p.put', { kind: 'http', url: `${origin}/`, method: 'POST' }, { retry, idempotent: true }],
      ['p.get', { kind: 'http', url: `${origin}/` }, { retry, idempotent: false }],
    ];
    await withService(
      route,
      tools,
      async ({ call }) => {
        await assert.rejects(call('p.post'), { reason: 'call.outcome_unknown' });
        assert.equal(asked, 1);
        await assert.rejects(call('p.get'), { reason: 'call.outcome_unknown' });
        assert.equal(asked, 2);
        await assert.rejects(call('p.put'), { reason: 'call.outcome_unknown' });
        assert.equal(asked, 5);
      },
      { scheduler: stillPace() },
    );
  });

  it('sends again whatever never left, and leaves a host alone that is not there', async () => {
    const scheduler = stillPace();
    const tools = (): Tools => [
      ['p.post', { kind: 'http', url: 'http://127.0.0.1:9/', method: 'POST' }, { retry }],
    ];
    await withService(
      echo,
      tools,
      async ({ call }) => {
        await assert.rejects(call('p.post'), { reason: 'http.failed' });
        assert.equal(scheduler.slept.length, 2);
        await assert.rejects(call('p.post'), { reason: 'tool.unhealthy', message: /left alone/ });
        scheduler.advance(60_000);
        await assert.rejects(call('p.post'), /refuses connections|left alone/);
      },
      { scheduler, breaker: { failures: 3, restMs: 60_000 } },
    );
  });
});
