// Owns: `haft mcp` line by line: what no proper client would send, and what happens when a client or the server goes away.
// Refuses: how tools and answers look (mcp-mapping.test.ts).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ENVELOPE_VERSIONS, HANDSHAKE_VERSIONS, RPC } from '../src/hosts/mcp/protocol.ts';
import { NODE_ARGS } from './e2e/support/haft.ts';
import { makeWorkspace, type Workspace } from './e2e/support/workspace.ts';
import { type Lines, openLines } from './support/mcp-lines.ts';

describe('haft mcp', () => {
  let workspace: Workspace;
  let lines: Lines;
  before(() => {
    workspace = makeWorkspace({ 'a.txt': 'one\n' });
    lines = openLines(workspace.root);
  });
  after(async () => {
    assert.equal(await lines.end(), 0);
    workspace.remove();
  });
  const ask = async (line: string | Uint8Array) => {
    lines.send(line);
    return lines.next();
  };
  const request = (method: string, params?: unknown, id: unknown = 1) =>
    JSON.stringify({ jsonrpc: '2.0', id, method, params });

  const REFUSED: readonly (readonly [title: string, line: string | Uint8Array, code: number, id?: number])[] =
    [
      ['a line that is not UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d), RPC.parse],
      ['a line that is not JSON', '{"jsonrpc":', RPC.parse],
      ['an empty batch', '[]', RPC.request],
      ['a bare value', '42', RPC.request],
      ['a message without a method', '{"jsonrpc":"2.0","id":1}', RPC.request, 1],
      ['an id that is an object', request('ping', {}, { a: 1 }), RPC.request],
      ['params that are a text', request('ping', 'x'), RPC.request, 1],
    ];
  for (const [title, line, code, readable = null] of REFUSED) {
    it(`answers ${title} with ${code} and goes on`, async () => {
      const { id, error } = await ask(line);
      assert.deepEqual([id, error?.code], [readable, code]);
      assert.deepEqual((await ask(request('ping'))).result, {});
    });
  }

  it('answers an unknown method, a call without a name and arguments that are no object', async () => {
    assert.equal((await ask(request('prompts/list'))).error?.code, RPC.method);
    assert.equal((await ask(request('__proto__'))).error?.code, RPC.method);
    assert.equal((await ask(request('tools/call', {}))).error?.code, RPC.params);
    assert.equal((await ask(request('tools/call', { name: 'undo', arguments: [] }))).error?.code, RPC.params);
  });

  it('hands a very long id back as it came', async () => {
    const id = 'x'.repeat(1024 * 1024);
    assert.equal((await ask(request('ping', {}, id))).id, id);
    assert.equal((await ask(request('ping', {}, 0))).id, 0);
  });

  it('answers a revision that it does not speak with those that it does', async () => {
    const envelope = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const { error } = await ask(request('tools/list', { _meta: envelope }));
    assert.equal(error?.code, RPC.version);
    assert.deepEqual(error?.data, { supported: [...ENVELOPE_VERSIONS], requested: '2099-01-01' });
    const { result } = await ask(request('initialize', { protocolVersion: '2099-01-01' }));
    assert.equal(result?.protocolVersion, HANDSHAKE_VERSIONS[0]);
    for (const protocolVersion of HANDSHAKE_VERSIONS)
      assert.equal(
        (await ask(request('initialize', { protocolVersion }))).result?.protocolVersion,
        protocolVersion,
      );
  });

  it('ignores answers and notifications that it did not ask for', async () => {
    lines.send('{"jsonrpc":"2.0","id":99,"result":{}}');
    lines.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}');
    lines.send('');
    assert.deepEqual((await ask(request('ping'))).result, {});
  });

  it('finishes calls under way when the client hangs up', async () => {
    const other = openLines(workspace.root);
    other.send(request('tools/call', { name: 'file_read', arguments: { path: 'a.txt' } }, 'last'));
    const ended = other.end();
    assert.equal((await other.next()).id, 'last');
    assert.equal(await ended, 0);
  });

  it('says why the workspace cannot be opened, to every request about tools', async () => {
    const broken = makeWorkspace({ 'haft.yaml': 'version: 2\n' });
    const other = openLines(broken.root);
    for (const method of ['tools/list', 'tools/call']) {
      other.send(request(method, { name: 'fs_list' }));
      const { error } = await other.next();
      assert.equal(error?.code, RPC.internal);
      assert.deepEqual(error?.data, { code: 'E_VALIDATION_FAIL', reason: 'policy.invalid' });
    }
    await other.end();
    broken.remove();
  });

  it('is the same server after it was killed and started again', async () => {
    const open = async () => {
      const client = new Client({ name: 'test', version: '1.0.0' });
      const transport = transportTo([...NODE_ARGS, 'mcp'], workspace.root);
      await client.connect(transport);
      return { client, pid: transport.pid! };
    };
    const first = await open();
    const gone = new Promise<void>((resolve) => {
      first.client.onclose = resolve;
    });
    const written = await first.client.callTool({
      name: 'file_write',
      arguments: { path: 'a.txt', content: 'two\n' },
    });
    process.kill(first.pid, 'SIGKILL');
    await gone;
    const second = await open();
    const undone = await second.client.callTool({
      name: 'undo',
      arguments: { call_id: String(written._meta?.['haft/call_id']) },
    });
    assert.partialDeepStrictEqual(undone.content, [{ text: 'Restored a.txt' }]);
    assert.equal(readFileSync(workspace.path('a.txt'), 'utf8'), 'one\n');
    await second.client.close();
  });
});

function transportTo(args: string[], cwd: string): StdioClientTransport {
  const quiet = '--disable-warning=ExperimentalWarning';
  return new StdioClientTransport({
    command: process.execPath,
    args: [quiet, ...args],
    cwd,
    env: { ...process.env } as Record<string, string>,
  });
}
