// Owns: servers that are allowed to be odd, and servers that are not: each a few lines, over real pipes and real HTTP.
// Refuses: what the official SDKs do; `mcp.test.ts` has those.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { invocationOf } from '../fixtures-for-tests.ts';
import type { ServerConnection } from '../server-adapter.ts';
import { type Route, withRoute, withScripted } from './odd-servers-for-tests.ts';

const never = new AbortController().signal;

const call = (connection: ServerConnection) => connection.invoke(invocationOf('odd.x', {}));
const CALLED = { ok: true, data: { text: 'called' } };

/** What a server answers to a call, beside the id, as an expression; and what is said of it. */
const NO_ANSWERS = [
  ['a text', `{ result: 'x' }`, /the server broke the protocol with its answer: its result is "x"/],
  ['null', '{ result: null }', /its result is null, not an object/],
  ['a list', '{ result: [] }', /its result is a list, not an object/],
  ['nothing', '{}', /it has neither a result nor an error/],
  ['both', `{ result: { content: [] }, error: { code: 1, message: 'e' } }`, /both a result and an error/],
  ['a text for content', `{ result: { content: 'str' } }`, /"content" of its answer is "str", not a list/],
  ['null for a block', '{ result: { content: [null] } }', /a block of its answer is null, not an object/],
  ['a block without a type', '{ result: { content: [{}] } }', /a block of its answer has no type/],
  ['a text without text', `{ result: { content: [{ type: 'text', text: 5 }] } }`, /"text", and has no text/],
  ['an odd isError', `{ result: { content: [], isError: 'no' } }`, /"isError" of its answer is "no"/],
] as const;

describe('mcp over pipes', () => {
  it('shakes hands with a server that says nothing to what it does not know', async () => {
    const odd = `return message.method === 'server/discover';`;
    await withScripted(odd, async (connection) => assert.deepEqual(await call(connection), CALLED), {
      probe_timeout_ms: 100,
    });
  });

  it('shakes hands with a server that ends when it is asked what it does not know', async () => {
    const odd = `if (message.method === 'server/discover') process.exit(1);`;
    await withScripted(odd, async (connection) => assert.deepEqual(await call(connection), CALLED));
  });

  it('does not ask at all where the config says what the server speaks', async () => {
    const odd = `if (message.method === 'server/discover') process.exit(1);`;
    const config = { protocol: '2025-11-25' };
    await withScripted(odd, async (connection) => assert.deepEqual(await call(connection), CALLED), config);
  });

  it('speaks an older revision that the server has, and none that nobody knows', async () => {
    const answer = (version: string) =>
      `if (message.method === 'initialize') { say({ id: message.id, result: { protocolVersion: '${version}', capabilities: {} } }); return true; }`;
    await withScripted(answer('2024-11-05'), async (connection) => {
      assert.deepEqual(await call(connection), CALLED);
    });
    await withScripted(answer('1999-01-01'), async (connection) => {
      await assert.rejects(call(connection), /no common revision of MCP \(it speaks 1999-01-01/);
    });
  });

  it('answers a sign of life, and refuses what it does not offer', async () => {
    const odd = `
      if (message.method === 'tools/call') { call = message.id; say({ id: 'p', method: 'ping' }); say({ id: 7, method: 'sampling/createMessage', params: {} }); return true; }
      if (message.id === 'p') { ping = message; return true; }
      if (message.id === 7) { say({ id: call, result: { content: [{ type: 'text', text: JSON.stringify([ping, message]) }] } }); return true; }`;
    await withScripted(odd, async (connection) => {
      const { data } = (await call(connection)) as { data: { text: string } };
      assert.deepEqual(JSON.parse(data.text), [
        { jsonrpc: '2.0', id: 'p', result: {} },
        { jsonrpc: '2.0', id: 7, error: { code: -32601, message: 'Method not found' } },
      ]);
    });
  });

  it('answers an error of the protocol as a failure of the tool, in its words', async () => {
    const odd = `if (message.method === 'tools/call') { say({ id: message.id, error: { code: -32602, message: 'bad city', data: { a: 1 } } }); return true; }`;
    await withScripted(odd, async (connection) => {
      assert.deepEqual(await call(connection), {
        ok: false,
        message: 'bad city',
        details: { code: -32602, data: { a: 1 } },
      });
    });
  });

  it('is not misled by answers to nobody, answers twice, noise and empty batches', async () => {
    const odd = `
      if (message.method === 'tools/call') {
        console.log('Server started!'); console.log(''); console.log('[]'); console.log('null');
        say({ id: 999, result: {} }); say({ id: message.id, result: { content: [{ type: 'text', text: 'first' }] } });
        say({ id: message.id, result: { content: [{ type: 'text', text: 'second' }] } });
        return true;
      }`;
    await withScripted(odd, async (connection) => {
      assert.deepEqual(await call(connection), { ok: true, data: { text: 'first' } });
      assert.deepEqual(await call(connection), { ok: true, data: { text: 'first' } });
    });
  });

  it('takes answers that come as one list, each for its call', async () => {
    const odd = `
      if (message.method !== 'tools/call') return false;
      const answer = { jsonrpc: '2.0', id: message.id, result: { content: [{ type: 'text', text: 'called' }] } };
      globalThis.held = [...(globalThis.held ?? []), answer];
      if (held.length === 3) console.log(JSON.stringify([null, { jsonrpc: '2.0', method: 'notifications/x' }, ...held]));
      return true;`;
    await withScripted(odd, async (connection) => {
      const answers = await Promise.all([call(connection), call(connection), call(connection)]);
      assert.deepEqual(answers, [CALLED, CALLED, CALLED]);
    });
  });

  it('stops at pages that have no end, and at tools that cannot be used', async () => {
    const list = (result: string) =>
      `if (message.method === 'tools/list') { say({ id: message.id, result: ${result} }); return true; }`;
    await withScripted(list(`{ tools: [], nextCursor: 'same' }`), async (connection) => {
      await assert.rejects(connection.discover(never), /pages have no end/);
    });
    const tools = `[null, {}, { name: 'a' }, { name: 'b', inputSchema: { $ref: 'https://example.org/s' } },
      { name: 'c', inputSchema: { enum: [{ $ref: 'data' }] } }, { name: 'd', inputSchema: {}, outputSchema: 1 }]`;
    await withScripted(list(`{ tools: ${tools} }`), async (connection) => {
      const { tools: found, problems } = await connection.discover(never);
      assert.deepEqual(
        found.map(({ contract }) => contract.id),
        ['odd.c'],
      );
      assert.deepEqual(
        problems.map((problem) => problem.replace('"odd" has a tool that cannot be used: ', '')),
        [
          'it is no object',
          'it has no name',
          '"a" has no input schema',
          'a schema of "b" refers to another document',
          'the output schema of "d" is none',
        ],
      );
    });
  });
});

describe('mcp answers that are none', () => {
  const answering = (method: string, answer: string) =>
    `if (message.method === '${method}') { say({ id: message.id, ...(${answer}) }); return true; }`;

  for (const [what, answer, says] of NO_ANSWERS)
    it(`${what}: the call fails at once and says so, over pipes`, async () => {
      await withScripted(answering('tools/call', answer), async (connection) => {
        const result = await call(connection);
        assert.ok(!result.ok);
        assert.match(result.message, says);
      });
    });

  for (const [what, list, says] of [
    ['no tools', '{ result: {} }', /Cannot list the tools of "odd": its answer has no "tools"/],
    ['a text for tools', `{ result: { tools: 'x' } }`, /"tools" of its answer is "x", not a list/],
    ['null for tools', '{ result: { tools: null } }', /"tools" of its answer is null, not a list/],
    ['no result', '{ result: null }', /its result is null, not an object/],
    ['an error in one word', `{ error: 'no login' }`, /Cannot list the tools of "odd": no login/],
    [
      'too many tools, on two pages',
      `{ result: { tools: Array.from({ length: 1001 }, (_, n) => ({ name: 't' + n, inputSchema: {} })), nextCursor: message.params.cursor ? undefined : 'next' } }`,
      /it has 2002 or more, over the limit of 2000; split it/,
    ],
    [
      'pages that are large together',
      `{ result: { tools: [{ name: 't', inputSchema: {}, description: 'x'.repeat(5e6) }], nextCursor: 'c' + Math.random() } }`,
      /its pages are over the limit of \d+ bytes/,
    ],
    [
      'a page that is too large',
      `{ result: { tools: [{ name: 't', inputSchema: {}, description: 'x'.repeat(2e7) }] } }`,
      /Cannot list the tools of "odd": its list is too long .*over the limit of/,
    ],
  ] as const)
    it(`${what}: the server is unhealthy and says why`, async () => {
      await withScripted(answering('tools/list', list), async (connection) => {
        await assert.rejects(connection.discover(never), { reason: 'tool.unhealthy', message: says });
      });
    });

  it('are told of a greeting too', async () => {
    const odd = answering('initialize', `{ result: 'hello' }`);
    await withScripted(odd, async (connection) => {
      await assert.rejects(
        connection.discover(never),
        /refuses to begin \(the server broke .*its result is "hello"/,
      );
    });
  });

  it('leave out tools that cannot be used by their ids', async () => {
    const deep = `JSON.parse('{"a":'.repeat(60) + '1' + '}'.repeat(60))`;
    const tools = `[{ name: 'do-it', inputSchema: {} }, { name: 'do_it', inputSchema: {} }, { name: 'none' }, { name: 'deep', inputSchema: ${deep} }]`;
    await withScripted(answering('tools/list', `{ result: { tools: ${tools} } }`), async (connection) => {
      assert.deepEqual((await connection.discover(never)).left, {
        'odd.none': '"none" has no input schema',
        'odd.deep': 'a schema of "deep" is nested more than 56 levels deep',
        'odd.do_it': '"odd" has several tools of that name: do-it, do_it',
      });
    });
  });
});

const json = (response: ServerResponse, value: object) =>
  response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
const initialized = { protocolVersion: '2025-11-25', capabilities: {} };
const called = { content: [{ type: 'text', text: 'called' }] };

describe('mcp over HTTP', () => {
  it('says who it is with every message, with its session, and says goodbye', async () => {
    const seen: unknown[] = [];
    const route: Route = (message, { headers, method }, response) => {
      const told = headers['mcp-session-id'];
      seen.push([method, message?.method, headers['mcp-protocol-version'], told, headers.authorization]);
      if (message?.method === 'server/discover') response.writeHead(400).end('Bad Request: no session');
      else if (message?.method === 'initialize')
        json(response.setHeader('mcp-session-id', 's1'), {
          jsonrpc: '2.0',
          id: message.id,
          result: initialized,
        });
      else if (message?.method === 'tools/call')
        json(response, { jsonrpc: '2.0', id: message.id, result: called });
      else response.writeHead(202).end();
    };
    await withRoute(route, async (connection) => assert.deepEqual(await call(connection), CALLED));
    assert.deepEqual(seen, [
      ['POST', 'server/discover', '2026-07-28', undefined, 'Bearer t'],
      ['POST', 'initialize', '2025-11-25', undefined, 'Bearer t'],
      ['POST', 'notifications/initialized', '2025-11-25', 's1', 'Bearer t'],
      ['POST', 'tools/call', '2025-11-25', 's1', 'Bearer t'],
      ['DELETE', undefined, '2025-11-25', 's1', 'Bearer t'],
    ]);
  });

  for (const [how, type, frame] of [
    ['as JSON', 'application/json', (text: string) => text],
    ['as an event', 'text/event-stream', (text: string) => `data: ${text}\n\n`],
  ] as const)
    it(`takes an answer that comes in a list, ${how}`, async () => {
      const route: Route = (message, _, response) => {
        if (message?.method === 'initialize')
          return void json(response, { jsonrpc: '2.0', id: message.id, result: initialized });
        if (message?.method !== 'tools/call') return void response.writeHead(404).end();
        const list = [
          { jsonrpc: '2.0', method: 'notifications/x' },
          { jsonrpc: '2.0', id: message.id, result: called },
        ];
        response.setHeader('content-type', type).end(frame(JSON.stringify(list)));
      };
      await withRoute(route, async (connection) => assert.deepEqual(await call(connection), CALLED));
    });

  it('calls a server that is down unhealthy, before a call left and between two', async () => {
    const down = { reason: 'tool.unhealthy', message: /^Cannot reach "odd" at http:\/\/127\.0\.0\.1:\d+: / };
    const route: Route = (message, _, response) => {
      const result = message?.method === 'initialize' ? initialized : called;
      if (message?.method === 'server/discover') response.writeHead(404).end();
      else if (message?.id === undefined) response.writeHead(202).end();
      else json(response, { jsonrpc: '2.0', id: message.id, result });
    };
    await withRoute(route, async (connection, close) => {
      assert.deepEqual(await call(connection), CALLED);
      await close();
      // The first finds a connection that was open, and cannot say what became of it.
      await assert.rejects(call(connection));
      await assert.rejects(call(connection), down);
    });
    await withRoute(route, async (connection, close) => {
      await close();
      await assert.rejects(call(connection), down);
      await assert.rejects(connection.discover(never), down);
    });
  });

  it('takes an answer up again where the server left its stream', async () => {
    let resumed: string | undefined;
    const route: Route = (message, { headers, method }, response) => {
      if (message?.method === 'initialize')
        json(response, { jsonrpc: '2.0', id: message.id, result: initialized });
      else if (message?.method === 'tools/call')
        response
          .setHeader('content-type', 'text/event-stream')
          .end(`: hello\nid: e${message.id}\ndata:\nretry: 10\n\n`);
      else if (method === 'GET') {
        resumed = String(headers['last-event-id']);
        const answer = { jsonrpc: '2.0', id: Number(resumed.slice(1)), result: called };
        response.setHeader('content-type', 'text/event-stream').end(`data: ${JSON.stringify(answer)}\n\n`);
      } else response.writeHead(404).end();
    };
    await withRoute(route, async (connection) => assert.deepEqual(await call(connection), CALLED));
    assert.match(resumed ?? '', /^e\d+$/);
  });

  it('does not send a call again whose answer broke off, and says so', async () => {
    let calls = 0;
    const route: Route = (message, _, response) => {
      if (message?.method === 'initialize')
        return void json(response, { jsonrpc: '2.0', id: message.id, result: initialized });
      if (message?.method !== 'tools/call') return void response.writeHead(404).end();
      calls++;
      response.setHeader('content-type', 'text/event-stream').write('data: {"jsonr');
      setImmediate(() => response.destroy());
    };
    await withRoute(route, async (connection) => {
      await assert.rejects(call(connection), { reason: 'call.outcome_unknown' });
    });
    assert.equal(calls, 1);
  });

  for (const [what, answer, says] of NO_ANSWERS)
    it(`fails at once where the answer to a call is ${what}, and says so`, async () => {
      const said = runInNewContext(`(${answer})`);
      const route: Route = (message, _, response) => {
        if (message?.method === 'initialize')
          return void json(response, { jsonrpc: '2.0', id: message.id, result: initialized });
        if (message?.method !== 'tools/call') return void response.writeHead(404).end();
        json(response, { jsonrpc: '2.0', id: message.id, ...said });
      };
      await withRoute(route, async (connection) => {
        const result = await call(connection);
        assert.ok(!result.ok);
        assert.match(result.message, says);
      });
    });

  for (const [lost, refuse] of [
    ['has forgotten the session', (response: ServerResponse) => response.writeHead(404).end()],
    ['is gone', (response: ServerResponse) => response.destroy()],
  ] as const)
    it(`does not send a call again that arrived, where the stream cannot be taken up: the server ${lost}`, async () => {
      let calls = 0;
      const route: Route = (message, _, response) => {
        if (message?.method === 'initialize')
          json(response.setHeader('mcp-session-id', 's1'), {
            jsonrpc: '2.0',
            id: message.id,
            result: initialized,
          });
        else if (message?.method === 'tools/call') {
          calls++;
          response
            .setHeader('content-type', 'text/event-stream')
            .end(`id: e${message.id}\ndata:\nretry: 10\n\n`);
        } else if (message) response.writeHead(message.id === undefined ? 202 : 400).end();
        else refuse(response);
      };
      await withRoute(route, async (connection) => {
        await assert.rejects(call(connection), { reason: 'call.outcome_unknown' });
      });
      assert.equal(calls, 1);
    });

  for (const [status, reason] of [
    [401, 'tool.unhealthy'],
    [429, 'http.rate'],
    [500, 'http.failed'],
  ] as const)
    it(`calls a server that answers ${status} ${reason}`, async () => {
      await withRoute(
        (_, __, response) => void response.writeHead(status).end(),
        async (connection) => {
          await assert.rejects(connection.discover(never), (thrown: { reason: string; message: string }) => {
            assert.equal(thrown.reason, reason);
            assert.match(thrown.message, new RegExp(`HTTP ${status}`));
            return true;
          });
        },
      );
    });
});
