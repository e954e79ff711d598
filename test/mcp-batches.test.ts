// Owns: the proof that a batch is answered or refused at once, by the ids of its requests, as the agreed revision has it.
// Refuses: a client: none of today's sends one.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { HANDSHAKE_VERSIONS, RPC } from '../src/hosts/mcp/protocol.ts';
import { makeWorkspace } from './e2e/support/workspace.ts';
import { type Answer, type Lines, openLines } from './support/mcp-lines.ts';

const workspace = makeWorkspace({
  'a.txt': 'one\n',
  'haft.yaml': "version: 1\nshell_allow: ['^sleep 600$']\n",
});
after(() => workspace.remove());

const request = (id: unknown, method = 'ping', params: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const call = (id: unknown, name: string, args: object) =>
  request(id, 'tools/call', { name, arguments: args });

/** Talks to a server that agreed on a revision; on none where it is undefined. */
async function talk(
  protocolVersion: string | undefined,
  use: (lines: Lines) => Promise<void>,
): Promise<void> {
  const lines = openLines(workspace.root);
  if (protocolVersion !== undefined) {
    lines.send(JSON.stringify(request('hello', 'initialize', { protocolVersion })));
    assert.equal((await lines.next()).id, 'hello');
  }
  await use(lines);
  assert.equal(await lines.end(), 0);
}

async function ask(lines: Lines, line: string, answers: number): Promise<Answer[]> {
  lines.send(line);
  const found: Answer[] = [];
  while (found.length < answers) found.push(await lines.next());
  return found;
}

const isServed = async (lines: Lines) =>
  assert.deepEqual((await ask(lines, JSON.stringify(request('next')), 1))[0]?.result, {});

describe('a batch over MCP', () => {
  for (const version of [undefined, ...HANDSHAKE_VERSIONS.filter((one) => one !== '2025-03-26')])
    it(`is refused at once, by each id, where ${version ?? 'nothing'} was agreed on, and nothing of it is done`, () =>
      talk(version, async (lines) => {
        const batch = [
          call(1, 'file_write', { path: 'made.txt', content: 'x' }),
          { jsonrpc: '2.0', id: 7, result: {} },
          { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
          request('two'),
        ];
        const answers = await ask(lines, JSON.stringify(batch), 2);
        assert.deepEqual(
          answers.map(({ id, error }) => [id, error?.code]),
          [
            [1, RPC.request],
            ['two', RPC.request],
          ],
        );
        assert.match(
          answers[0]?.error?.message ?? '',
          new RegExp(
            `^Cannot take a batch: .*${version ?? 'none'} was agreed on; send each message on a line of its own$`,
          ),
        );
        await isServed(lines);
        assert.equal(existsSync(workspace.path('made.txt')), false);
      }));

  it('is answered request by request where 2025-03-26 was agreed on, and nobody waits for the slowest', () =>
    talk('2025-03-26', async (lines) => {
      const batch = [
        call('slow', 'shell_exec', { cmd: 'sleep 600', timeout_ms: 600_000 }),
        call('read', 'file_read', { path: 'a.txt' }),
        request(3),
        request('odd', 'no/such'),
        { jsonrpc: '2.0', id: 'none' },
        5,
      ];
      const answers = await ask(lines, JSON.stringify(batch), 5);
      const by = new Map(answers.map((answer) => [answer.id, answer]));
      assert.match(JSON.stringify(by.get('read')?.result), /one/);
      assert.deepEqual(by.get(3)?.result, {});
      assert.equal(by.get('odd')?.error?.code, RPC.method);
      assert.equal(by.get('none')?.error?.code, RPC.request);
      assert.equal(by.get(null)?.error?.code, RPC.request);
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'slow' } };
      lines.send(JSON.stringify([cancel]));
      await isServed(lines);
    }));

  it('is refused with an "initialize" in it, with a key twice, and where it is empty', () =>
    talk('2025-03-26', async (lines) => {
      const greeting = request('again', 'initialize', { protocolVersion: '2025-11-25' });
      const greeted = await ask(lines, JSON.stringify([request(1), greeting]), 2);
      assert.deepEqual(
        greeted.map(({ id, error }) => [id, error?.code]),
        [
          [1, RPC.request],
          ['again', RPC.request],
        ],
      );
      const twice = await ask(
        lines,
        '[{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"},{"id":2}]',
        2,
      );
      assert.deepEqual(
        twice.map(({ id, error }) => [id, error?.code]),
        [
          [1, RPC.params],
          [2, RPC.params],
        ],
      );
      const [empty] = await ask(lines, '[]', 1);
      assert.deepEqual([empty?.id, empty?.error?.code], [null, RPC.request]);
      await isServed(lines);
    }));
});
