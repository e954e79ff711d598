// Owns: the proof that MCP servers from npm, named in haft.yaml, are tools like all others: governed, contained, audited.
// Refuses: fakes, and a server of its own.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { crashPrograms } from '../../src/adapters/fixtures-for-tests.ts';
import type { CallResponse } from '../../src/contract/envelope.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../src/preset/default.ts';
import { haft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const server = (name: string) =>
  join(import.meta.dirname, '../../node_modules/@modelcontextprotocol', name, 'dist/index.js');

const policy = (root: string) => `version: 1
packs:
  - name: everything
    mcp:
      command: [node, ${server('server-everything')}, stdio]
      overlays:
        get-env: { hide: true }
  - name: memory
    mcp:
      command: [node, ${server('server-memory')}]
      env: { set: { MEMORY_FILE_PATH: ${root}/notes/memory.json } }
      caps: { filesystem: { write: [notes] } }
  - name: files
    mcp:
      command: [node, ${server('server-filesystem')}, ${root}]
      caps: { filesystem: { read: [.] } }
tools:
  rules:
    - tool: everything.get_tiny_image
      decision: deny
paths:
  rules:
    - path: secret/**
      read: deny
      write: deny
`;

async function withServers(
  use: (runtime: DefaultRuntime, workspace: Workspace) => Promise<void>,
): Promise<void> {
  const workspace = makeWorkspace({ 'a.txt': 'alpha', 'secret/key': 'hidden', 'notes/.keep': '' });
  workspace.put('haft.yaml', policy(workspace.root));
  const warnings: string[] = [];
  const runtime = await createDefaultRuntime({
    workspace: workspace.root,
    onWarning: (line) => warnings.push(line),
  });
  try {
    assert.deepEqual(warnings, []);
    await use(runtime, workspace);
  } finally {
    await runtime.close();
    workspace.remove();
  }
}

describe('MCP servers of haft.yaml', () => {
  it('are listed, called, refused by policy, contained and audited', async () => {
    await withServers(async (runtime, workspace) => {
      const ids = runtime.tools().map(({ contract }) => contract.id);
      for (const id of ['everything.echo', 'memory.create_entities', 'files.read_text_file', 'file_read'])
        assert.ok(ids.includes(id), id);
      assert.ok(!ids.includes('everything.get_env'), 'a hidden tool is not there');

      const call = (tool: string, args: object) => runtime.call({ tool, args: args as never });
      assert.deepEqual((await call('everything.echo', { message: 'hi' })).data, { text: 'Echo: hi' });
      assert.equal((await call('everything.echo', {})).errors[0]?.reason, 'input.schema');
      assert.equal((await call('everything.get_tiny_image', {})).errors[0]?.code, 'E_POLICY');
      assert.ok((await call('files.read_text_file', { path: workspace.path('a.txt') })).ok);
      const hidden = await call('files.read_text_file', { path: workspace.path('secret/key') });
      assert.ok(!hidden.ok && !JSON.stringify(hidden).includes('hidden'));
      const entities = [{ name: 'ada', entityType: 'person', observations: ['writes programs'] }];
      assert.ok((await call('memory.create_entities', { entities })).ok);
      assert.ok(existsSync(workspace.path('notes/memory.json')));

      const rows = await runtime.audit.rows({});
      assert.deepEqual(
        rows.filter(({ phase }) => phase === 'outcome').map(({ tool, outcome }) => [tool, outcome]),
        [
          ['everything.echo', 'ok'],
          ['everything.echo', 'failed'],
          ['everything.get_tiny_image', 'denied'],
          ['files.read_text_file', 'ok'],
          ['files.read_text_file', 'failed'],
          ['memory.create_entities', 'ok'],
        ],
      );
    });
  });

  it('answer every call once when they are killed under load, and serve the next', async () => {
    await withServers(async (runtime, workspace) => {
      const answers: CallResponse[] = [];
      const marker = workspace.root;
      let next = 0;
      const lane = async () => {
        while (next < 200) {
          if (next++ % 50 === 25) crashPrograms('node', marker);
          answers.push(await runtime.call({ tool: 'files.list_directory', args: { path: marker } }));
        }
      };
      await Promise.all(Array.from({ length: 8 }, lane));
      assert.equal(answers.length, 200);
      const allowed = ['call.outcome_unknown', 'tool.unhealthy'];
      for (const { ok, errors } of answers)
        assert.ok(ok || allowed.includes(errors[0]!.reason), JSON.stringify(errors));
      assert.ok(answers.filter(({ ok }) => ok).length > 100);
      assert.ok((await runtime.call({ tool: 'files.list_directory', args: { path: marker } })).ok);
      const outcomes = (await runtime.audit.rows({ limit: 1000 })).filter(({ phase }) => phase === 'outcome');
      assert.equal(new Set(outcomes.map(({ callId }) => callId)).size, 201);
    });
  });

  it('are tools of the command, too', async () => {
    const workspace = makeWorkspace({ 'notes/.keep': '' });
    workspace.put('haft.yaml', policy(workspace.root));
    try {
      const args = ['call', 'everything.get_sum', '{"a":2,"b":3}', '--json'];
      for (let turn = 0; turn < 2; turn++) {
        const { status, stdout, stderr } = await haft(args, { cwd: workspace.root });
        assert.equal(status, 0, stderr);
        assert.match(JSON.parse(stdout).data.text, /5/);
      }
    } finally {
      workspace.remove();
    }
  });
});
