// Owns: the check that docs/reference/mcp.md, the MCP host and the official client say the same.
// Refuses: a client of its own, but for lines that no proper client would send.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type CallResponse, toToolResponse } from '../src/contract/envelope.ts';
import { callResult, toMcpTool } from '../src/hosts/mcp/mapping.ts';
import { ENVELOPE_VERSIONS, HANDSHAKE_VERSIONS, RPC } from '../src/hosts/mcp/protocol.ts';
import { createRuntime } from '../src/index.ts';
import { BUILTIN_TOOLS } from '../src/tools/index.ts';
import { NODE_ARGS } from './e2e/support/haft.ts';
import { makeWorkspace, type Workspace } from './e2e/support/workspace.ts';
import { type Lines, openLines } from './support/mcp-lines.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../docs/reference/mcp.md'), 'utf8');
const SERVER = join(import.meta.dirname, 'support/mcp-server.ts');

/** The first cells of a section's table, without their backquotes. */
function firstColumn(section: string): string[] {
  const text = PAGE.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = [...text.matchAll(/^\| (.+?) \|/gm)].map((match) => match[1]!);
  return rows.slice(1).flatMap((cell) => cell.replaceAll('`', '').split(', '));
}

/** What contents of resources carry. */
const RESOURCE_META = ['haft/size', 'haft/end_byte'];

const FULL: CallResponse = {
  ok: true,
  tool: 'file_read',
  requestId: 'req_1',
  callId: 'call_1',
  runId: 'run_1',
  replayed: false,
  durationMs: 1,
  data: { content: 'text', size: 4 },
  content: { blocks: [{ type: 'audio', data: '', mimeType: 'audio/wav' }], inData: false },
  errors: [{ code: 'E_POLICY', reason: 'policy.denied', message: 'Cannot', retryable: false }],
  warnings: [{ reason: 'test', message: 'mind' }],
};

describe('docs/reference/mcp.md', () => {
  it('lists the revisions that are spoken', () => {
    assert.deepEqual(firstColumn('Revisions'), [...ENVELOPE_VERSIONS, ...HANDSHAKE_VERSIONS]);
  });

  it('lists the JSON-RPC errors that are sent', () => {
    assert.deepEqual(firstColumn('Errors').sort(), Object.values(RPC).map(String).sort());
  });

  it('lists the fields of a tool', () => {
    const listed = toMcpTool({ contract: BUILTIN_TOOLS[0]!, origin: 'builtin', enabled: true });
    const { annotations, ...fields } = listed;
    const names = [...Object.keys(fields), ...Object.keys(annotations).map((name) => `annotations.${name}`)];
    assert.deepEqual(firstColumn('A tool').sort(), names.sort());
  });

  it('lists every field of a ToolResponse but the request id, which a client has its own of', () => {
    const { request_id: _own, ...fields } = toToolResponse(FULL);
    assert.deepEqual([...new Set(firstColumn('A response'))].sort(), Object.keys(fields).sort());
  });

  it('names every haft/ key that is produced, and no other', () => {
    const { _meta: meta } = JSON.parse(callResult(FULL, { tool: undefined }, '').join(''));
    const named = new Set([...PAGE.matchAll(/"(haft\/[a-z_]+)"/g)].map((match) => match[1]!));
    assert.deepEqual([...named].sort(), [...Object.keys(meta), ...RESOURCE_META].sort());
  });
});

const MODES: Readonly<Record<string, ClientOptions>> = {
  legacy: { versionNegotiation: { mode: 'legacy' } },
  auto: { versionNegotiation: { mode: 'auto' } },
  'pinned to 2026-07-28': { versionNegotiation: { mode: { pin: '2026-07-28' } } },
};

for (const [mode, options] of Object.entries(MODES)) {
  describe(`the official client, ${mode}`, () => {
    let workspace: Workspace;
    /** The command, as it is installed. */
    let client: Client;
    /** The same with tools of tests. */
    let more: Client;
    const troubles: string[] = [];
    const connect = async (args: string[]): Promise<Client> => {
      const made = new Client(
        { name: 'test', version: '1.0.0' },
        { ...options, listChanged: { tools: { onChanged: () => {} } } },
      );
      made.onerror = (error) => troubles.push(error.message);
      await made.connect(transportTo(args, workspace.root));
      return made;
    };
    before(async () => {
      const policy = "version: 1\nshell_allow: ['^(echo|until|sleep|\\[|test)']\n";
      workspace = makeWorkspace({ 'a.txt': 'one\n', 'haft.yaml': policy });
      client = await connect([...NODE_ARGS, 'mcp']);
      more = await connect([SERVER, workspace.root]);
    });
    after(async () => {
      await client.close();
      await more.close();
      workspace.remove();
    });

    it('agrees on a revision', () => {
      const expected = mode === 'legacy' ? HANDSHAKE_VERSIONS[0] : ENVELOPE_VERSIONS[0];
      assert.equal(client.getNegotiatedProtocolVersion(), expected);
      assert.equal(client.getServerVersion()?.name, 'haft');
      assert.match(client.getInstructions() ?? '', /haft\.yaml/);
    });

    it('lists the tools with schemas and hints', async () => {
      // Policy lets nothing run on docker or slurm.
      const own = BUILTIN_TOOLS.flatMap(({ id }) => (/^(docker|slurm)_/.test(id) ? [] : [id]));
      const listed = (await client.listTools()).tools.map((tool) => tool.name);
      assert.deepEqual(listed, [...own].sort());
      const { tools } = await more.listTools();
      const fixed = tools.find((tool) => tool.name === 'fixed');
      assert.deepEqual(fixed?.annotations, {
        title: 'Answer the same',
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: true,
      });
    });

    it('is told what each tool may do, and never less', async () => {
      const { tools } = await client.listTools();
      const hints = (hint: 'readOnlyHint' | 'destructiveHint' | 'openWorldHint') =>
        tools.filter((tool) => tool.annotations?.[hint]).map((tool) => tool.name);
      const background = ['shell_signal', 'shell_start', 'shell_write'];
      const reading = ['artifact_get', 'artifact_list', 'artifact_preview', 'file_read', 'fs_list'];
      assert.deepEqual(hints('readOnlyHint'), [...reading, 'grep', 'proc_list', 'shell_list', 'shell_read']);
      assert.deepEqual(hints('openWorldHint'), ['curl', 'shell_exec', 'shell_read', ...background]);
      const files = ['file_edit', 'file_patch', 'file_write', 'fs_copy', 'fs_delete', 'fs_move'];
      assert.deepEqual(hints('destructiveHint'), ['curl', ...files, 'shell_exec', ...background, 'undo']);
    });

    it('reads the call_id of a change, and of nothing else, in the text', async () => {
      const write = { path: 'undo-me.txt', content: 'x' };
      const written = await client.callTool({ name: 'file_write', arguments: write });
      const [, line = ''] = texts(written.content);
      assert.equal(line, `call_id: ${written._meta?.['haft/call_id']}`);
      const undone = await client.callTool({
        name: 'undo',
        arguments: { call_id: line.slice('call_id: '.length) },
      });
      assert.equal(undone.isError, false);
      for (const [name, args] of [
        ['file_read', { path: 'a.txt' }],
        ['file_write', { ...write, dry_run: true }],
        ['file_write', { path: '../x', content: '' }],
        ['fs_delete', {}],
      ] as const) {
        const { content } = await client.callTool({ name, arguments: args });
        assert.doesNotMatch(texts(content).join('\n'), /call_id/, name);
      }
      const failed = await client.callTool({ name: 'fs_delete', arguments: { path: 'nowhere' } });
      assert.match(texts(failed.content).at(-1)!, /^call_id: call_/);
    });

    it('gets the output of a command while it runs', async () => {
      const seen: { progress: number; total?: number; message?: string }[] = [];
      let settled = false;
      // It only goes on once a client that saw its lines says so.
      const cmd =
        'echo first line; until [ -e go1 ]; do sleep 0.02; done; echo next line; until [ -e go2 ]; do sleep 0.02; done';
      const { structuredContent } = await client.callTool(
        { name: 'shell_exec', arguments: { cmd } },
        {
          onprogress(progress) {
            assert.equal(settled, false);
            seen.push(progress as (typeof seen)[number]);
            if (progress.message?.includes('first line')) writeFileSync(workspace.path('go1'), '');
            if (progress.message?.includes('next line')) writeFileSync(workspace.path('go2'), '');
          },
        },
      );
      settled = true;
      for (const file of ['go1', 'go2']) rmSync(workspace.path(file));
      assert.equal((structuredContent as { code: number }).code, 0);
      const said = seen.map(({ message }) => message).join('\n');
      assert.match(said, /first line\n[\s\S]*next line/);
      for (const [i, { progress, total }] of seen.entries()) {
        assert.ok(progress > (seen[i - 1]?.progress ?? 0));
        assert.equal(total, undefined);
      }
    });

    it('gets an answer as structured content that fits the output schema, and as text', async () => {
      const result = await client.callTool({ name: 'file_read', arguments: { path: 'a.txt' } });
      assert.equal((result.structuredContent as { content: string }).content, 'one\n');
      assert.deepEqual(result.content, [{ type: 'text', text: 'one\n' }]);
      assert.equal(result.isError, false);
      assert.match(String(result._meta?.['haft/call_id']), /^call_/);
      assert.equal(typeof result._meta?.['haft/duration_ms'], 'number');
    });

    it('gets text as JSON from a tool that names no field', async () => {
      const args = { path: 'json.txt', content: 'x', dry_run: true };
      const { content, structuredContent } = await client.callTool({ name: 'file_write', arguments: args });
      assert.deepEqual(JSON.parse(texts(content)[0]!), structuredContent);
    });

    it('gets a list of texts line by line', async () => {
      const { content, structuredContent } = await client.callTool({ name: 'fs_list' });
      const { files } = structuredContent as { files: string[] };
      assert.ok(files.length > 0);
      assert.deepEqual(texts(content)[0]!.split('\n'), files);
    });

    it('gets a failure as a result, without structured content', async () => {
      for (const [args, reason] of [
        [{ path: '../x' }, 'path.outside_workspace'],
        [{ path: 'none' }, 'path.not_found'],
        [{ pth: 'a' }, 'input.schema'],
      ] as const) {
        const result = await client.callTool({ name: 'file_read', arguments: args });
        assert.equal(result.isError, true);
        assert.ok(!('structuredContent' in result));
        assert.ok(texts(result.content)[0]?.includes(reason));
        const [error] = (result._meta?.['haft/errors'] ?? []) as { reason: string }[];
        assert.equal(error?.reason, reason);
      }
    });

    it('gets warnings, and the run of a deterministic tool', async () => {
      const warned = await more.callTool({ name: 'warn' });
      assert.deepEqual(warned._meta?.['haft/warnings'], [{ reason: 'test', message: 'mind the gap' }]);
      assert.deepEqual(texts(warned.content), ['{}', 'Note: mind the gap']);
      const fixed = await more.callTool({ name: 'fixed', arguments: { x: 1 } });
      assert.match(String(fixed._meta?.['haft/run_id']), /^run_[0-9a-f]{64}$/);
      assert.equal(fixed._meta?.['haft/replayed'], false);
    });

    it('is told of an unknown tool and an unknown method by a JSON-RPC error', async () => {
      await assert.rejects(client.callTool({ name: 'file_raed' }), {
        code: RPC.params,
        data: { reason: 'tool.unknown' },
      });
      await assert.rejects(client.request({ method: 'prompts/list', params: {} }), { code: RPC.method });
    });

    it('lists artifacts as resources, and reads them whole, in ranges and inside of trees', async () => {
      const importing = async (args: Record<string, string>) => {
        const { structuredContent } = await client.callTool({ name: 'artifact_import', arguments: args });
        return `haft://artifact/${(structuredContent as { artifact: string }).artifact}`;
      };
      const text = await importing({ content: '0123456789' });
      const bytes = await importing({ content: 'AP8B', encoding: 'base64' });
      mkdirSync(workspace.path('tree'), { recursive: true });
      writeFileSync(workspace.path('tree/a b.txt'), 'inside');
      const tree = await importing({ path: 'tree' });
      const { resources } = await client.listResources();
      assert.deepEqual(
        resources.map(({ uri }) => uri),
        [tree, bytes, text],
      );
      const read = async (uri: string) => (await client.readResource({ uri })).contents[0]!;
      const whole = await read(text);
      assert.deepEqual(
        [whole.uri, whole.mimeType, 'text' in whole && whole.text],
        [text, 'text/plain', '0123456789'],
      );
      assert.deepEqual(whole._meta, { 'haft/size': 10, 'haft/end_byte': 10 });
      const part = await read(`${text}?start_byte=2&end_byte=4`);
      assert.deepEqual(['text' in part && part.text, part._meta?.['haft/end_byte']], ['23', 4]);
      const blob = await read(bytes);
      assert.equal('blob' in blob && blob.blob, 'AP8B');
      const listed = await read(tree);
      assert.match(String('text' in listed && listed.text), /"path":"a b.txt"/);
      const inside = await read(`${tree}/a%20b.txt?start_byte=2`);
      assert.equal('text' in inside && inside.text, 'side');
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.equal(resourceTemplates.length, 2);
      for (const uri of [
        `haft://artifact/sha256:${'0'.repeat(64)}`,
        'haft://artifact/../x',
        `${text}?start_byte=-1`,
        `${text}#x`,
        'file:///etc/passwd',
      ])
        await assert.rejects(client.readResource({ uri }), { code: RPC.params });
      assert.equal(await outcomeOf(workspace.root, 'artifact_get'), 'failed');
    });

    it('gets progress that grows, and no answer once it cancels', async () => {
      const seen: { progress: number; total?: number; message?: string }[] = [];
      const controller = new AbortController();
      const call = more.callTool(
        { name: 'wait' },
        {
          signal: controller.signal,
          onprogress(progress) {
            seen.push(progress as (typeof seen)[number]);
            if (seen.length === 2) controller.abort('enough');
          },
        },
      );
      await assert.rejects(call);
      assert.deepEqual(
        seen.map(({ total, message }) => [total, message]),
        [
          [100, 'first'],
          [100, 'second'],
        ],
      );
      assert.ok(seen[0]!.progress < seen[1]!.progress);
      // The server is free again, and the audit knows how the call ended.
      await more.callTool({ name: 'file_read', arguments: { path: 'a.txt' } });
      assert.equal(await outcomeOf(workspace.root, 'wait'), 'cancelled');
    });

    it('has nothing to complain about', () => assert.deepEqual(troubles, []));
  });
}

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
    assert.deepEqual(undone.structuredContent, { undone: true, restored: ['a.txt'] });
    assert.equal(readFileSync(workspace.path('a.txt'), 'utf8'), 'one\n');
    await second.client.close();
  });
});

const texts = (content: readonly unknown[]) => content.map((block) => (block as { text: string }).text);

function transportTo(args: string[], cwd: string): StdioClientTransport {
  const quiet = '--disable-warning=ExperimentalWarning';
  return new StdioClientTransport({
    command: process.execPath,
    args: [quiet, ...args],
    cwd,
    env: { ...process.env } as Record<string, string>,
  });
}

/** As soon as the server has recorded it: nothing tells a client when a call that it cancelled has ended. */
async function outcomeOf(root: string, tool: string): Promise<string> {
  const runtime = await createRuntime({ workspace: root });
  try {
    for (;;) {
      const [row] = await runtime.audit.rows({ tool, last: 1 });
      if (row) return row.outcome;
    }
  } finally {
    await runtime.close();
  }
}
