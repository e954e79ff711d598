// Owns: the proof that tools whose answers are no objects keep nobody from the others: MCP carries objects alone.
// Refuses: a client of its own: the official one is the strictest.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { NODE_ARGS } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const CHECKSUMS = readFileSync(
  join(import.meta.dirname, '../../examples/packs/repo/checksums.tool.yaml'),
  'utf8',
);
const lines = CHECKSUMS.replace('repo.checksums', 'repo.lines')
  .replace('{ type: string }\nexecution', '{ type: array, items: { type: string } }\nexecution')
  .replace(/cmd: \[.*\] \}/, `cmd: [printf, '["a", "b"]'] }`);

describe('haft mcp, of tools that answer with a text or a list', () => {
  let workspace: Workspace;
  let client: Client;
  before(async () => {
    workspace = makeWorkspace({
      'haft.yaml': "version: 1\npacks: [packs]\nshell_allow: ['^(sha256sum|printf) ']\n",
      'packs/a.tool.yaml': CHECKSUMS,
      'packs/b.tool.yaml': lines,
      'a.txt': 'one\n',
    });
    client = new Client({ name: 'test', version: '1.0.0' });
    const args = [...NODE_ARGS, 'mcp', '--output-schemas', '--workspace', workspace.root];
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args,
        env: { ...process.env } as Record<string, string>,
      }),
    );
  });
  after(async () => {
    await client.close();
    workspace.remove();
  });

  it('lists every tool, those without an output schema', async () => {
    const { tools } = await client.listTools();
    const schemas = new Map(tools.map(({ name, outputSchema }) => [name, outputSchema]));
    assert.ok(schemas.get('file_read'));
    for (const name of ['repo-checksums', 'repo-lines']) assert.equal(schemas.get(name), undefined, name);
    assert.ok(schemas.has('repo-checksums') && schemas.has('repo-lines'));
  });

  it('answers in the text alone', async () => {
    const [text, list] = [
      await client.callTool({ name: 'repo-checksums', arguments: { path: 'a.txt' } }),
      await client.callTool({ name: 'repo-lines', arguments: { path: 'a.txt' } }),
    ];
    const shown = (answer: typeof text) => (answer.content as { text: string }[])[0]?.text;
    assert.match(shown(text) ?? '', /^[0-9a-f]{64} {2}a\.txt/);
    assert.equal(shown(list), '["a","b"]');
    assert.deepEqual([text.structuredContent, list.structuredContent], [undefined, undefined]);
  });
});
