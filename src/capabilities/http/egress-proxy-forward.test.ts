import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { startProxy, status, talk } from './egress/proxy-for-tests.ts';
import { createHttpKit, startTcpServer } from './servers-for-tests.ts';

const { server, opened, closeAll } = createHttpKit();
afterEach(closeAll);
const proxy = async (...args: Parameters<typeof startProxy>) => opened(await startProxy(...args));

describe('forwardRequest', () => {
  function through(
    port: number,
    url: string,
    options: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ) {
    return new Promise<{ status: number; headers: IncomingMessage['headers']; body: string }>(
      (resolve, reject) => {
        const sent = httpRequest(
          {
            host: '127.0.0.1',
            port,
            path: url,
            method: options.method ?? 'GET',
            headers: { host: new URL(url).host, ...options.headers },
            agent: false,
          },
          (answer) => {
            const { statusCode = 0, headers } = answer;
            answer
              .toArray()
              .then((parts) => resolve({ status: statusCode, headers, body: parts.join('') }), reject);
          },
        );
        sent.on('error', reject);
        sent.end(options.body);
      },
    );
  }

  it('passes a request on, written anew, and its answer back', async () => {
    const host = await server(async (got, answer) => {
      const body = (await got.toArray()).join('');
      answer.writeHead(201, { 'X-Answer': 'yes', Connection: 'keep-alive, X-Hop', 'X-Hop': 'gone' });
      answer.end(JSON.stringify({ method: got.method, url: got.url, headers: got.headers, body }));
    });
    const made = await proxy();
    const headers = {
      'Proxy-Authorization': 'Basic x',
      'Proxy-Connection': 'keep-alive',
      'X-Kept': 'k',
      Connection: 'X-Named',
      'X-Named': 'n',
    };
    const answer = await through(made.port, `http://good.test:${host.port}/a?b`, {
      method: 'POST',
      body: 'hello',
      headers,
    });
    const seen = JSON.parse(answer.body);
    assert.deepEqual(
      [answer.status, answer.headers['x-answer'], answer.headers['x-hop']],
      [201, 'yes', undefined],
    );
    assert.deepEqual(
      [seen.method, seen.url, seen.body, seen.headers.host],
      ['POST', '/a?b', 'hello', `good.test:${host.port}`],
    );
    assert.deepEqual(
      [
        seen.headers['x-kept'],
        seen.headers['x-named'],
        seen.headers['proxy-authorization'],
        seen.headers['proxy-connection'],
      ],
      ['k', undefined, undefined, undefined],
    );
    await eventually(() => made.records.length === 1, 'the record');
    assert.deepEqual(
      [made.records[0]?.outcome, made.records[0]?.bytesUp, made.records[0]?.address],
      ['done', 5, '127.0.0.1'],
    );
  });

  it('takes the host of the URL, not of the Host header', async () => {
    const host = await server((got, answer) => answer.end(got.headers.host));
    const made = await proxy();
    const text = `GET http://good.test:${host.port}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`;
    assert.match(await talk(made.port, text), new RegExp(`good\\.test:${host.port}`));
    assert.deepEqual(
      made.asked.map((target) => target.host),
      ['good.test'],
    );
    const other = `GET http://evil.test:${host.port}/ HTTP/1.1\r\nHost: good.test\r\n\r\n`;
    assert.equal(status(await talk(made.port, other)), 403);
  });

  it('answers one request for each connection and never looks at a second', async () => {
    const paths: (string | undefined)[] = [];
    const host = await server((got, answer) => {
      paths.push(got.url);
      answer.end('x');
    });
    const made = await proxy();
    const one = (path: string) => `GET http://good.test:${host.port}${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const answer = await talk(made.port, one('/1') + one('/2'));
    assert.equal(answer.match(/HTTP\/1\.1/g)?.length, 1);
    assert.deepEqual([paths, made.asked.length], [['/1'], 1]);
    // A tunnel that is asked for behind a request costs the asker both.
    const tunnelled = `${one('/3')}CONNECT good.test:${host.port} HTTP/1.1\r\nHost: x\r\n\r\n`;
    assert.doesNotMatch(await talk(made.port, tunnelled), /established/);
    assert.ok(made.asked.every(({ scheme }) => scheme === 'http'));
  });

  const post = (headers: string, body: string) =>
    `POST http://good.test:PORT/ HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`;
  const SMUGGLED: { readonly [name: string]: string } = {
    'both lengths': post(
      'Content-Length: 5\r\nTransfer-Encoding: chunked',
      '0\r\n\r\nGET /x HTTP/1.1\r\n\r\n',
    ),
    'two lengths': post('Content-Length: 5\r\nContent-Length: 6', 'hello!'),
    'a list of lengths': post('Content-Length: 5, 5', 'hello'),
    'a signed length': post('Content-Length: +5', 'hello'),
    'a coding beside chunked': post('Transfer-Encoding: gzip, chunked', '0\r\n\r\n'),
    'an unknown coding': post('Transfer-Encoding: xchunked', '0\r\n\r\n'),
    'two codings': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', '0\r\n\r\n'),
    'a space before the colon': post('Content-Length : 5', 'hello'),
    'a folded header': post('X-A: b\r\n Content-Length: 5', 'hello'),
    'a bare line feed': 'GET http://good.test:PORT/ HTTP/1.1\nHost: x\n\n',
    'two hosts': post('Host: y', ''),
    'no whole URL': 'GET / HTTP/1.1\r\nHost: good.test\r\n\r\n',
    'https by URL': 'GET https://good.test/ HTTP/1.1\r\nHost: x\r\n\r\n',
    'another scheme': 'GET ftp://good.test/ HTTP/1.1\r\nHost: x\r\n\r\n',
    'a user in the URL': 'GET http://u:p@good.test/ HTTP/1.1\r\nHost: x\r\n\r\n',
    TRACE: 'TRACE http://good.test/ HTTP/1.1\r\nHost: x\r\n\r\n',
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'no HTTP': '\x16\x03\x01\x00\x05hello',
    'a head without end': `GET http://good.test/ HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`,
  };
  for (const [name, text] of Object.entries(SMUGGLED))
    it(`refuses a request with ${name}`, async () => {
      const host = await server((_, answer) => answer.end());
      const made = await proxy();
      const answer = await talk(made.port, text.replaceAll('PORT', String(host.port)));
      assert.ok([400, 431].includes(status(answer)), answer);
      assert.equal(host.connections.made, 0);
    });

  it('writes a chunked body anew', async () => {
    const host = await server(async (got, answer) => answer.end((await got.toArray()).join('')));
    const made = await proxy();
    const text = `POST http://good.test:${host.port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n0\r\nTrailer: t\r\n\r\n`;
    assert.match(await talk(made.port, text), /hello/);
  });

  it('hangs up where an answer breaks off, and answers 502 where it is none', async () => {
    const made = await proxy();
    const cut = opened(
      await startTcpServer((socket) =>
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort')),
      ),
    );
    await assert.rejects(through(made.port, `http://good.test:${cut.port}/`));
    const none = opened(await startTcpServer((socket) => socket.once('data', () => socket.end('what?\r\n'))));
    assert.equal((await through(made.port, `http://good.test:${none.port}/`)).status, 502);
  });
});
