// Owns: the proof that a tool of a pack that is not open is called disabled at every door, with who closed it and what opens it.
// Refuses: tools of packs that are open; disabled-tools.test.ts has those.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packFiles } from '../../src/adapters/pack-for-tests.ts';
import { trustForTests, writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { haft } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';
import { startMcp } from './support/mcp-lines.ts';
import { startServer } from './support/server.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/toolpacks/text_stats');
const python = { kind: 'python', module: 'tools:plain' };
const PACK = packFiles(
  [
    ['p.plain', python],
    ['elsewhere.named', python],
  ],
  { 'tools.py': 'def plain(input): return {}\n' },
);

const errorOf = async (cwd: string, tool: string) => {
  const { stdout, stderr } = await haft(['call', tool, '{}'], { cwd });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout).errors[0];
};

async function assertDisabled(cwd: string, tool: string, says: RegExp): Promise<void> {
  const error = await errorOf(cwd, tool);
  assert.deepEqual([error.code, error.reason], ['E_POLICY', 'tool.disabled'], JSON.stringify(error));
  assert.match(error.message, says);
}

describe('a tool of a pack that is disabled', () => {
  let workspace: Workspace;
  const BY_FILE =
    /^Cannot call "[^"]+": its pack "\w+" is disabled: haft\.yaml says enabled: false; change it there$/;
  const BY_HAND =
    /^Cannot call "[^"]+": its pack "(\w+)" is disabled, by haft tools disable; haft tools enable \1 enables it$/;
  before(async () => {
    workspace = makeWorkspace({
      ...PACK,
      'hub/server.mjs': hubServer('Says it back.'),
      'haft.yaml': `version: 1
packs:
  - packs/p
  - { path: packs/t, name: texts, enabled: false }
  - { name: far, stdio: { command: [node, far.mjs] }, enabled: false }
  - { name: hub, mcp: { command: [node, hub/server.mjs] } }
`,
    });
    cpSync(EXAMPLE, workspace.path('packs/t'), { recursive: true });
    trustForTests(workspace.root);
    // From here on clients know it by its name.
    assert.equal((await haft(['call', 'p.plain', '{}'], { cwd: workspace.root })).status, 0);
    for (const name of ['p', 'hub'])
      assert.equal((await haft(['tools', 'disable', name], { cwd: workspace.root })).status, 0);
  });
  after(() => workspace.remove());

  for (const [tool, says] of [
    ['p.plain', BY_HAND],
    ['elsewhere.named', BY_HAND],
    ['hub.echo', BY_HAND],
    ['far.away', BY_FILE],
    ['text_stats', BY_FILE],
  ] as const)
    it(`says so on the command line: ${tool}`, async () => {
      await assertDisabled(workspace.root, tool, says);
      const shown = await haft(['tools', 'show', tool], { cwd: workspace.root });
      assert.match(shown.stderr, /Cannot show "[^"]+": its pack "\w+" is disabled[\s\S]*tool\.disabled/);
    });

  it('says so over HTTP and MCP, by the name that clients know it by', async () => {
    const server = await startServer(workspace.root);
    const mcp = startMcp(workspace.root);
    try {
      const body = JSON.stringify({ type: 'ToolRequest', tool: 'p.plain', args: {} });
      const { json } = await server.post('/v1/call', body);
      assert.match(json.errors[0].message, BY_HAND);
      assert.match(JSON.stringify((await server.get('/v1/tools/p.plain')).json), /tool\.disabled/);
      for (const name of ['p-plain', 'p.plain', 'elsewhere-named']) {
        const params = { name, arguments: {} };
        const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
        const { result } = await mcp.ask(line);
        assert.equal(result?.isError, true, name);
        assert.match(JSON.stringify(result), /haft tools enable p enables it/);
      }
    } finally {
      await server.close();
      await mcp.close();
    }
  });

  it('leaves a tool that nobody has unknown', async () => {
    assert.equal((await errorOf(workspace.root, 'nobody.has')).reason, 'tool.unknown');
    assert.equal((await errorOf(workspace.root, 'file_raed')).reason, 'tool.unknown');
  });

  it('can be called once the pack is enabled', async () => {
    assert.equal((await haft(['tools', 'enable', 'p'], { cwd: workspace.root })).status, 0);
    const { stdout } = await haft(['call', 'p.plain', '{}'], { cwd: workspace.root });
    assert.equal(JSON.parse(stdout).ok, true, stdout);
  });
});

describe('a tool of a pack that an outer policy does not name', () => {
  it('is disabled by that policy, and says so', async () => {
    const files = Object.fromEntries(Object.entries(PACK).map(([path, text]) => [`sub/${path}`, text]));
    const workspace = makeWorkspace({ 'haft.yaml': 'version: 1\n', ...files });
    try {
      const inner = 'version: 1\npacks: [packs/p, { name: hub, stdio: { command: [sh] } }]\n';
      writeTrusted(workspace.path('sub/haft.yaml'), inner);
      const says =
        /its pack "\w+" is disabled: \.\.\/haft\.yaml holds here as well, and does not name it; name it in \.\.\/haft\.yaml too$/;
      for (const tool of ['p.plain', 'elsewhere.named', 'hub.x'])
        await assertDisabled(workspace.path('sub'), tool, says);
      assert.equal((await errorOf(workspace.path('sub'), 'nobody.has')).reason, 'tool.unknown');
    } finally {
      workspace.remove();
    }
  });
});
