// Owns: the proof that a mount answers what it likes, behind the one door.
// Refuses: routes; create-daemon.test.ts and http-reference.test.ts have those.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeWorkspace } from '../../../test/e2e/support/workspace.ts';
import { createRuntime, type DefaultRuntime } from '../../index.ts';
import { createDaemon, type Daemon } from './create-daemon.ts';
import type { Mount } from './route.ts';

const TOKENS = { calls: 'calls-0123456789', management: 'manage-0123456789' };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('a mount', () => {
  const workspace = makeWorkspace({ 'app.html': '<p>hello</p>' });
  let runtime: DefaultRuntime;
  let daemon: Daemon;

  const files: Mount = {
    path: '/files',
    token: 'none',
    handle(_request, response) {
      response.writeHead(200, { 'content-type': 'text/html' });
      createReadStream(join(workspace.root, 'app.html')).pipe(response);
    },
  };
  const lines: Mount = {
    path: '/lines',
    token: 'either',
    async handle(request, response) {
      if (request.url === '/lines/broken') throw new Error('a bug');
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      for await (const piece of request) response.write(`${JSON.stringify({ size: piece.length })}\n`);
      response.end('{"over":true}\n');
    },
  };
  const echo: Mount = {
    path: '/echo',
    token: 'calls',
    handle: (_request, response) => void response.end(),
    upgrade(_request, socket) {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
      socket.once('data', (chunk) => socket.end(chunk));
    },
  };

  before(async () => {
    runtime = await createRuntime({ workspace: workspace.root });
    daemon = await createDaemon({
      runtime,
      version: '0',
      host: '127.0.0.1',
      port: 0,
      tokens: TOKENS,
      mounts: [files, lines, echo],
      maxBodyBytes: 1000,
    });
  });
  after(async () => {
    await daemon.close();
    await runtime.close();
    workspace.remove();
  });

  it('answers files below its path', async () => {
    for (const path of ['/files', '/files/app.html?x=1']) {
      const response = await fetch(`${daemon.address}${path}`);
      assert.equal(response.headers.get('content-type'), 'text/html');
      assert.equal(await response.text(), '<p>hello</p>');
    }
    assert.equal(
      (await fetch(`${daemon.address}/files`, { headers: { origin: 'https://example.org' } })).status,
      403,
    );
  });

  it('reads a body as it comes and streams its answer, for who has one of its tokens', async () => {
    const send = (headers: Record<string, string>, body = 'abc') =>
      fetch(`${daemon.address}/lines`, { method: 'POST', headers, body });
    assert.equal((await send({})).status, 401);
    for (const token of Object.values(TOKENS))
      assert.equal(await (await send(bearer(token))).text(), '{"size":3}\n{"over":true}\n');
    await assert.rejects(async () => (await send(bearer(TOKENS.calls), 'x'.repeat(5000))).text());
  });

  it('answers what it throws as an error of the table', async () => {
    const response = await fetch(`${daemon.address}/lines/broken`, { headers: bearer(TOKENS.calls) });
    assert.equal(response.status, 500);
    assert.equal(((await response.json()) as { reason: string }).reason, 'internal.unexpected');
  });

  const upgrade = async (path: string, token: string) => {
    const socket = connect(Number(new URL(daemon.address).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.endsWith('\r\n\r\n')) socket.write('ping');
    });
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    await once(socket, 'close');
    return text;
  };

  it('takes a connection over, and only for who may', async () => {
    assert.match(await upgrade('/echo', TOKENS.calls), /^HTTP\/1\.1 101 .*ping$/s);
    assert.match(await upgrade('/echo', TOKENS.management), /^HTTP\/1\.1 401 .*auth\.required/s);
    assert.match(await upgrade('/files', TOKENS.calls), /^HTTP\/1\.1 400 .*nothing here takes it over/s);
    assert.match(await upgrade('/v1/tools', TOKENS.calls), /^HTTP\/1\.1 400 /);
  });
});
