// Owns: what a model behind a client gets from `haft mcp` as people configure it: both generations of the official client look.
// Refuses: single mappings (test/mcp-mapping.test.ts) and single texts (src/hosts/mcp/answer-text.test.ts).
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { haft, NODE_ARGS } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const POLICY = `version: 1
shell_allow: ['^(echo|false|seq|sh) ?', '^until ', '^\\[ ', '^sleep ']
paths: { rules: [{ path: secret.txt, read: deny }, { path: ask.txt, write: ask }] }
`;

interface Result {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
  readonly _meta: Record<string, unknown>;
}
interface Listed {
  readonly name: string;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
}
interface Door {
  list(): Promise<readonly Listed[]>;
  call(
    name: string,
    args?: object,
    onprogress?: (progress: { message?: string | undefined }) => void,
  ): Promise<Result>;
  close(): Promise<void>;
}

const PLACE = (root: string, flags: readonly string[]) => ({
  command: process.execPath,
  args: [...NODE_ARGS, 'mcp', ...flags],
  cwd: root,
  env: { ...process.env } as Record<string, string>,
  stderr: 'ignore' as const,
});

const CLIENTS: Readonly<Record<string, (root: string, flags: readonly string[]) => Promise<Door>>> = {
  async 'SDK v1'(root, flags) {
    const client = new ClientV1({ name: 'test', version: '1.0.0' });
    await client.connect(new StdioV1(PLACE(root, flags)));
    return {
      list: async () => (await client.listTools()).tools,
      call: async (name, args = {}, onprogress) =>
        (await client.callTool(
          { name, arguments: args as never },
          undefined,
          onprogress ? { onprogress } : {},
        )) as never,
      close: () => client.close(),
    };
  },
  async 'SDK v2'(root, flags) {
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StdioClientTransport(PLACE(root, flags)));
    return {
      list: async () => (await client.listTools()).tools,
      call: async (name, args = {}, onprogress) =>
        (await client.callTool(
          { name, arguments: args as never },
          onprogress ? { onprogress } : {},
        )) as never,
      close: () => client.close(),
    };
  },
};

const text = ({ content }: Result) => content.map((block) => block.text).join('\n');

for (const [name, open] of Object.entries(CLIENTS))
  describe(`haft mcp with ${name}`, () => {
    let workspace: Workspace;
    let door: Door;
    before(async () => {
      workspace = makeWorkspace({ 'haft.yaml': POLICY, 'a.txt': 'one\ntwo\n', 'secret.txt': 'x\n' });
      door = await open(workspace.root, []);
    });
    after(async () => {
      await door.close();
      workspace.remove();
    });

    it('lists the default profile, the same again from what it kept', async () => {
      const listed = await door.list();
      const names = listed.map((tool) => tool.name);
      assert.ok(
        names.includes('file_read') && names.includes('find_tool') && !names.includes('artifact_list'),
      );
      for (const tool of listed) {
        assert.equal(tool.outputSchema, undefined, tool.name);
        assert.doesNotMatch(JSON.stringify(tool.inputSchema), /"type":\[/, tool.name);
      }
      await door.call('file_read', { path: 'a.txt' });
      const again = await open(workspace.root, []);
      assert.deepEqual(await again.list(), listed);
      await again.close();
    });

    it('finds, describes and calls a tool that is not listed, by its name too', async () => {
      assert.match(text(await door.call('find_tool', { query: 'list artifacts' })), /^artifact_list: /);
      assert.match(text(await door.call('describe_tool', { tool: 'artifact_list' })), /"input_schema"/);
      const found = await door.call('call_tool', { tool: 'artifact_list', arguments: {} });
      assert.equal(text(found), '(no artifacts)');
      assert.equal(text(await door.call('artifact_list')), '(no artifacts)');
    });

    it('answers with plain text, and with the rest in _meta', async () => {
      assert.equal(text(await door.call('file_read', { path: 'a.txt' })), 'one\ntwo\n');
      assert.equal(text(await door.call('grep', { pattern: 't.o' })), 'a.txt:2:two');
      const listed = text(await door.call('fs_list')).split('\n');
      assert.ok(listed.includes('a.txt'));
      const echoed = await door.call('shell_exec', { cmd: 'echo hi' });
      assert.deepEqual([text(echoed), echoed.structuredContent], ['hi', undefined]);
      assert.ok('sandbox' in (echoed._meta['haft/data'] as object));
      assert.equal(
        text(await door.call('shell_exec', { cmd: 'echo no >&2; false' })),
        '[stderr]\nno\n[exit code 1]',
      );
    });

    it('says that it cut something', async () => {
      assert.match(
        text(await door.call('grep', { pattern: 'o', max_results: 1 })),
        /^a\.txt:1:one\nNote: .*first 1 matches/,
      );
      const cut = await door.call('file_read', { path: 'a.txt', start_line: 1, max_bytes: 4 });
      assert.match(text(cut), /^one\n\nNote: .*start_line 2/);
    });

    it('gives the call_id of a change, which undo takes', async () => {
      const written = text(await door.call('file_write', { path: 'new.txt', content: 'x' }));
      assert.match(written, /^Created new\.txt \(1 bytes, sha256 [0-9a-f]{64}\)\ncall_id: call_\w+$/);
      const undone = await door.call('undo', { call_id: written.split('call_id: ')[1] });
      assert.match(text(undone), /^Removed new\.txt\ncall_id: /);
    });

    it('says on a denial which rule decided and what to do', async () => {
      const shell = await door.call('shell_exec', { cmd: 'rm a.txt' });
      assert.equal(shell.isError, true);
      assert.match(
        text(shell),
        /^E_POLICY shell\.not_allowed: .*shell_allow.*\nWhat to do: .*ask the user.*haft\.yaml.*:\nshell_allow:\n {2}- '\^rm a/,
      );
      assert.match(
        text(await door.call('file_read', { path: 'secret.txt' })),
        /paths\.rules\[0\][\s\S]*ask the user/,
      );
      const asked = text(await door.call('file_write', { path: 'ask.txt', content: 'x' }));
      const [, approval] = /haft approvals grant (appr_\w+)", then make the same call again/.exec(asked)!;
      await haft(['approvals', 'grant', approval!], { cwd: workspace.root });
      assert.match(
        text(await door.call('file_write', { path: 'ask.txt', content: 'x' })),
        /^Created ask\.txt/,
      );
      assert.match(text(await door.call('file_read', { path: '../x' })), /below the workspace/);
    });

    it('tells what a command prints while it runs', async () => {
      const said: string[] = [];
      const cmd = 'echo first line; until [ -e go ]; do sleep 0.02; done';
      const done = await door.call('shell_exec', { cmd }, ({ message }) => {
        said.push(message ?? '');
        if (said.join('').includes('first line')) workspace.put('go', '');
      });
      assert.match(said.join(''), /first line/);
      assert.equal(text(done), 'first line');
    });

    it('lists schemas of answers, and answers with data, where the command says so', async () => {
      const typed = await open(workspace.root, ['--profile', 'all', '--output-schemas']);
      const listed = await typed.list();
      const named = listed.map((tool) => tool.name);
      assert.ok(named.includes('artifact_list') && !named.includes('find_tool'));
      assert.ok(listed.every(({ outputSchema }) => outputSchema));
      const read = await typed.call('file_read', { path: 'a.txt' });
      assert.deepEqual([text(read), read.structuredContent?.content], ['one\ntwo\n', 'one\ntwo\n']);
      await typed.close();
    });
  });

describe('haft mcp --profile', () => {
  it('refuses a name that is none, and two that differ', async () => {
    const workspace = makeWorkspace();
    for (const flags of [
      ['--profile', 'tiny'],
      ['--profile', 'all', '--searchable'],
    ]) {
      const { stderr, status } = await haft(['mcp', ...flags], { cwd: workspace.root });
      assert.equal(status, 2, stderr);
      assert.match(stderr, /Cannot serve MCP/);
    }
    workspace.remove();
  });
});
