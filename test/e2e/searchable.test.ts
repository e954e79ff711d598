// Owns: the searchable mode of `haft mcp`: three tools in the list, all others behind them, each call governed under its own name.
// Refuses: how tools are ranked; the tests beside the ranker show that.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { makeTools } from '../../bench/tool-catalogue.ts';
import type { AnyTool } from '../../src/contract/tool.ts';
import { createConnection } from '../../src/hosts/mcp/connection.ts';
import type { Profile } from '../../src/hosts/mcp/view.ts';
import { createDefaultRuntime } from '../../src/preset/default.ts';
import { haft, NODE_ARGS } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

describe('haft mcp --searchable', () => {
  let workspace: Workspace;
  let client: Client;
  before(async () => {
    workspace = makeWorkspace({
      'a.txt': 'one\n',
      'secret.txt': 'two\n',
      'haft.yaml': 'version: 1\npaths:\n  rules:\n    - { path: "secret.txt", read: deny }\n',
    });
    client = new Client({ name: 'test', version: '1.0.0' });
    const args = [...NODE_ARGS, 'mcp', '--searchable'];
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args,
        cwd: workspace.root,
        env: { ...process.env } as Record<string, string>,
        stderr: 'ignore',
      }),
    );
  });
  after(async () => {
    await client.close();
    workspace.remove();
  });

  const use = async (name: string, args: Record<string, unknown>) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    const [block] = content as { text: string }[];
    return { text: block?.text ?? '', isError };
  };

  it('lists three tools, and says how to use them', async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['find_tool', 'describe_tool', 'call_tool'],
    );
    assert.match(client.getInstructions() ?? '', /find_tool/);
  });

  it('finds a tool, describes it and calls it', async () => {
    const found = await use('find_tool', { query: 'read a file', limit: 1 });
    assert.match(found.text, /^file_read: /);
    const described = await use('describe_tool', { tool: 'file_read' });
    assert.match(described.text, /"input_schema":\{.*"properties"/);
    const called = await use('call_tool', { tool: 'file_read', arguments: { path: 'a.txt' } });
    assert.deepEqual([called.text, called.isError], ['one\n', false]);
  });

  it('decides and records a call under the name of the tool that was called', async () => {
    const denied = await use('call_tool', { tool: 'file_read', arguments: { path: 'secret.txt' } });
    assert.equal(denied.isError, true);
    assert.match(denied.text, /^E_POLICY policy\.denied: /);
    const { stdout } = await haft(['audit', 'export'], { cwd: workspace.root });
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      rows.map(({ tool, outcome }) => [tool, outcome]),
      [
        ['file_read', 'ok'],
        ['file_read', 'denied'],
      ],
    );
  });

  it('answers what is wrong in a way that a model can act on', async () => {
    assert.match(
      (await use('call_tool', { tool: 'fil_read' })).text,
      /tool\.unknown: .*did you mean "file_read"/,
    );
    assert.match((await use('call_tool', { tool: 'file_read', arguments: {} })).text, /input\.schema/);
    assert.match((await use('call_tool', {})).text, /input\.schema: .*tool must be a text/);
    assert.match((await use('find_tool', { query: '' })).text, /query must be a text/);
    assert.match(
      (await use('call_tool', { tool: 'call_tool', arguments: { tool: 'fs_list' } })).text,
      /tool\.unknown/,
    );
  });
});

describe('a thousand tools', () => {
  it('cost a few hundred tokens in the searchable mode, at four characters each', async () => {
    const workspace = makeWorkspace();
    const tools: AnyTool[] = makeTools(1_000).map((contract) => ({
      ...contract,
      effects: () => [],
      run: () => ({}),
    }));
    const runtime = await createDefaultRuntime({ workspace: workspace.root, tools });
    try {
      const tokensOf = async (profile: Profile) => {
        const answers: string[] = [];
        const connection = createConnection({
          runtime: async () => runtime,
          version: '0',
          send: (pieces) => void answers.push(pieces.join('')),
          view: { profile, outputSchemas: false },
        });
        connection.receive('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
        await connection.settled();
        return Math.ceil(answers.join('').length / 4);
      };
      const [searchable, whole] = [await tokensOf('searchable'), await tokensOf('all')];
      assert.ok(searchable < 500, `${searchable} tokens`);
      assert.ok(whole > 100 * searchable, `${whole} tokens without it, ${searchable} with it`);
    } finally {
      await runtime.close();
      workspace.remove();
    }
  });
});
