// Owns: the check that docs/reference/mcp.md, the MCP host and the official client say the same.
// Refuses: a client of its own; lines that no proper client would send are in mcp-lines.test.ts.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type CallResponse, toToolResponse } from '../src/contract/envelope.ts';
import { callResult } from '../src/hosts/mcp/call-result.ts';
import { toMcpTool } from '../src/hosts/mcp/list-tools.ts';
import { ENVELOPE_VERSIONS, HANDSHAKE_VERSIONS, RPC } from '../src/hosts/mcp/protocol.ts';
import { FINDERS } from '../src/hosts/mcp/view.ts';
import { createRuntime } from '../src/index.ts';
import { BUILTIN_TOOLS } from '../src/tools/index.ts';
import { NODE_ARGS } from './e2e/support/haft.ts';
import { makeWorkspace, type Workspace } from './e2e/support/workspace.ts';

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
    const view = { profile: 'all', outputSchemas: true } as const;
    const names = BUILTIN_TOOLS.flatMap((contract) => {
      const { annotations, ...fields } = toMcpTool({ contract, origin: 'builtin', enabled: true }, view);
      return [...Object.keys(fields), ...Object.keys(annotations).map((name) => `annotations.${name}`)];
    });
    assert.deepEqual(firstColumn('A tool').sort(), [...new Set(names)].sort());
  });

  it('lists every field of a ToolResponse but the request id, which a client has its own of', () => {
    const { request_id: _own, ...fields } = toToolResponse(FULL);
    assert.deepEqual([...new Set(firstColumn('A response'))].sort(), Object.keys(fields).sort());
  });

  it('names every haft/ key that is produced, and no other', () => {
    const tool = BUILTIN_TOOLS.find(({ id }) => id === FULL.tool);
    const { content: _blocks, ...plain } = FULL;
    const { _meta: meta } = JSON.parse(callResult(plain, { tool, args: {}, structured: false }, '').join(''));
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
      const own = BUILTIN_TOOLS.flatMap(({ id }) => (/^(docker|slurm|artifact)_/.test(id) ? [] : [id]));
      const listed = (await client.listTools()).tools.map((tool) => tool.name);
      assert.deepEqual(listed, [...own.sort(), ...FINDERS]);
      const { tools } = await more.listTools();
      const fixed = tools.find((tool) => tool.name === 'fixed');
      assert.deepEqual(fixed?.annotations, { readOnlyHint: true });
    });

    it('is told what each tool may do, and never less', async () => {
      const { tools } = await client.listTools();
      const hintsOf = (names: readonly string[]) =>
        names.map((name) => tools.find((tool) => tool.name === name)?.annotations);
      // What is left out is true by MCP's own rules.
      const hints = {
        read: { readOnlyHint: true, openWorldHint: false },
        change: { destructiveHint: true, openWorldHint: false },
        reach: { destructiveHint: true },
      };
      const names = {
        read: ['file_read', 'fs_list', 'grep', 'proc_list', 'find_tool', 'describe_tool'],
        change: ['file_patch', 'file_write', 'fs_copy', 'fs_delete', 'fs_move', 'undo'],
        reach: ['curl', 'shell_exec', 'call_tool'],
      };
      for (const kind of ['read', 'change', 'reach'] as const)
        assert.deepEqual(hintsOf(names[kind]), Array(names[kind].length).fill(hints[kind]), kind);
      for (const { name, annotations } of tools)
        assert.notEqual(annotations?.readOnlyHint ?? false, annotations?.destructiveHint ?? false, name);
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
      const echoed = await client.callTool({ name: 'shell_exec', arguments: { cmd: 'echo hi' } });
      assert.deepEqual(texts(echoed.content), ['hi']);
      const failed = await client.callTool({ name: 'fs_delete', arguments: { path: 'nowhere' } });
      assert.match(texts(failed.content).at(-1)!, /^call_id: call_/);
    });

    it('gets the output of a command while it runs', async () => {
      const seen: { progress: number; total?: number; message?: string }[] = [];
      let settled = false;
      // It only goes on once a client that saw its lines says so.
      const cmd =
        'echo first line; until [ -e go1 ]; do sleep 0.02; done; echo next line; until [ -e go2 ]; do sleep 0.02; done';
      const { isError, content } = await client.callTool(
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
      assert.deepEqual([isError, texts(content)], [false, ['first line\nnext line']]);
      const said = seen.map(({ message }) => message).join('\n');
      assert.match(said, /first line\n[\s\S]*next line/);
      for (const [i, { progress, total }] of seen.entries()) {
        assert.ok(progress > (seen[i - 1]?.progress ?? 0));
        assert.equal(total, undefined);
      }
    });

    it('gets an answer as text, and the rest of it beside', async () => {
      const result = await client.callTool({ name: 'file_read', arguments: { path: 'a.txt' } });
      assert.deepEqual(result.content, [{ type: 'text', text: 'one\n' }]);
      assert.ok(!('structuredContent' in result));
      assert.partialDeepStrictEqual(result._meta?.['haft/data'], { size: 4, encoding: 'utf-8' });
      assert.equal(result.isError, false);
      assert.match(String(result._meta?.['haft/call_id']), /^call_/);
      assert.equal(typeof result._meta?.['haft/duration_ms'], 'number');
    });

    it('gets text as JSON from a tool that names no field', async () => {
      const { content } = await more.callTool({ name: 'fixed', arguments: { x: [1] } });
      assert.deepEqual(JSON.parse(texts(content)[0]!), { x: [1] });
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
        const { content } = await client.callTool({ name: 'artifact_import', arguments: args });
        return `haft://artifact/${texts(content)[0]!.split(' ')[0]}`;
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
