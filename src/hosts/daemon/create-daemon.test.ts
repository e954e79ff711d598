// Owns: the proof of what the HTTP door does with bytes that no client library sends: slow, doubled, foreign, malformed.
// Refuses: what routes answer; the doors' tests and http-reference.test.ts have that.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { makeWorkspace } from '../../../test/e2e/support/workspace.ts';
import { createRuntime, type DefaultRuntime } from '../../index.ts';
import { createDaemon, type Daemon } from './create-daemon.ts';

const TOKENS = { calls: 'calls-0123456789', management: 'manage-0123456789' };
const AUTHORIZED = `Authorization: Bearer ${TOKENS.calls}\r\n`;
const BRIEF = { headers: 100, request: 200, idle: 100, check: 20 };
const GENEROUS = { headers: 60_000, request: 60_000, idle: 60_000, check: 1000 };

describe('createDaemon', () => {
  const workspace = makeWorkspace({ 'a.txt': 'hello\n' });
  let runtime: DefaultRuntime;
  let daemon: Daemon;
  let hasty: Daemon;
  /** Quick to hang up, and in no hurry while it is asked. */
  let leaving: Daemon;
  before(async () => {
    runtime = await createRuntime({ workspace: workspace.root });
    const start = (patience: typeof BRIEF) =>
      createDaemon({ runtime, version: '0', host: '127.0.0.1', port: 0, tokens: TOKENS, patience });
    [daemon, hasty, leaving] = await Promise.all(
      [GENEROUS, BRIEF, { ...GENEROUS, idle: BRIEF.idle }].map(start) as [
        Promise<Daemon>,
        Promise<Daemon>,
        Promise<Daemon>,
      ],
    );
  });
  after(async () => {
    await Promise.all([daemon, hasty, leaving].map((one) => one.close()));
    await runtime.close();
    workspace.remove();
  });

  it('closes a connection whose authenticated body does not come, with 408', async () => {
    const head = `POST /v1/call HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}Content-Length: 100\r\n\r\n{"tool"`;
    const text = await told(hasty, head);
    assert.match(text, /^HTTP\/1\.1 408 /);
    assert.match(text, /"reason":"input\.slow"/);
  });

  it('closes a connection whose body comes byte by byte, however steadily', async () => {
    const socket = open(hasty);
    socket.write(
      `POST /v1/call HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}Transfer-Encoding: chunked\r\n\r\n`,
    );
    const drip = setInterval(() => socket.writable && socket.write('1\r\n \r\n'), 10);
    try {
      assert.match(await heard(socket), /^HTTP\/1\.1 408 /);
    } finally {
      clearInterval(drip);
    }
  });

  it('closes a connection whose headers do not end, or that says nothing', async () => {
    assert.match(await told(hasty, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n'), /^HTTP\/1\.1 408 /);
    assert.match(await told(hasty, ''), /^HTTP\/1\.1 408 /);
  });

  it('closes an idle connection after an answer', async () => {
    assert.match(await told(leaving, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'), /^HTTP\/1\.1 200 /);
  });

  it('refuses who may not ask before the body is there, and hangs up', async () => {
    const text = await told(
      daemon,
      'POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n',
    );
    assert.match(text, /^HTTP\/1\.1 401 /);
    assert.match(text, /connection: close/i);
  });

  for (const [title, lines] of Object.entries({
    'another Host': 'Host: evil\r\n',
    'a Host with more after the bracket': 'Host: [::1]evil\r\n',
    'two Hosts': 'Host: localhost\r\nHost: evil\r\n',
    'the same Host twice': 'Host: localhost\r\nHost: localhost\r\n',
    'an empty Host': 'Host:\r\n',
    'the Origin null': 'Host: localhost\r\nOrigin: null\r\n',
    'an Origin that only begins as this server': 'Host: localhost\r\nOrigin: http://localhost.evil\r\n',
  }))
    it(`refuses ${title}, on the route without a token too`, async () => {
      for (const path of ['/healthz', '/v1/tools', '/none', '/%zz', `/v1/tools/${'x'.repeat(2000)}`])
        assert.match(
          await told(daemon, `GET ${path} HTTP/1.1\r\n${lines}${AUTHORIZED}Connection: close\r\n\r\n`),
          /^HTTP\/1\.1 403 [\s\S]*"reason":"auth\.origin"/,
        );
    });

  for (const path of [
    '/none',
    '/%zz',
    '/v1/tools/%ff',
    `/v1/tools/${'x'.repeat(2000)}`,
    '//v1/tools',
    '/healthz/',
  ])
    it(`wants the token for ${path.slice(0, 20)}, which is no route`, async () => {
      const asked = (more: string) =>
        told(daemon, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}Connection: close\r\n\r\n`);
      assert.match(await asked(''), /^HTTP\/1\.1 401 [\s\S]*"reason":"auth\.required"/);
      assert.match(await asked(AUTHORIZED), /^HTTP\/1\.1 40[04] [\s\S]*"reason":"usage"/);
    });

  for (const [title, request] of Object.entries({
    'no Host': `GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n`,
    'no Host, in HTTP/1.0': 'GET /healthz HTTP/1.0\r\n\r\n',
    'a target that names another server': `GET http://evil/v1/tools HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}Connection: close\r\n\r\n`,
    'two lengths': `POST /v1/call HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}`,
    'a length and chunks': `POST /v1/call HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'an obfuscated coding': `POST /v1/call HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    'bare line feeds': `GET /v1/tools HTTP/1.1\nHost: localhost\n${AUTHORIZED.trim()}\n\n`,
    'white space before the colon': `GET /v1/tools HTTP/1.1\r\nHost : localhost\r\n${AUTHORIZED}\r\n`,
    'headers over 16 KiB': `GET /v1/tools HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}X: ${'x'.repeat(20_000)}\r\n\r\n`,
    'the token in the query': `GET /v1/tools?token=${TOKENS.calls}&access_token=${TOKENS.calls} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    'two tokens': `GET /v1/tools HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}${AUTHORIZED}Connection: close\r\n\r\n`,
    'a route by another spelling': `GET /v1/../v1/tools HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}Connection: close\r\n\r\n`,
    'a method that it has not': `TRACE /v1/tools HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZED}Connection: close\r\n\r\n`,
  }))
    it(`refuses ${title}`, async () => {
      assert.match(await told(daemon, request), /^HTTP\/1\.1 4\d\d [\s\S]*"type":"ErrorMessage"/);
    });
});

const open = ({ address }: Daemon): Socket => connect(Number(new URL(address).port), '127.0.0.1');

async function told(daemon: Daemon, text: string): Promise<string> {
  const socket = open(daemon);
  socket.write(text);
  return heard(socket);
}

/** Everything until the other side hangs up. */
async function heard(socket: Socket): Promise<string> {
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}
