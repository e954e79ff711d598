// Owns: packs that are added, disabled, enabled, looked at and removed from the command line.
// Refuses: a fake of the server: it is a program that Haft starts and asks.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { trustForTests } from '../../src/preset/trust/trust-for-tests.ts';
import { haft } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const COMMAND = ['--', 'node', 'server/hub.mjs'];

describe('haft tools add', () => {
  let workspace: Workspace;
  before(() => {
    workspace = makeWorkspace({
      'haft.yaml': 'version: 1\npacks:\n  - { name: named, mcp: { command: [node, server/hub.mjs] } }\n',
      'server/hub.mjs': hubServer('Says what it is told.', 'Another.'),
    });
  });
  after(() => workspace.remove());

  const run = (...args: readonly string[]) => haft(args, { cwd: workspace.root });
  const call = async (tool: string) => {
    const { ok, errors } = JSON.parse((await run('call', tool, '{"text":"hi"}')).stdout);
    return ok ? 'ok' : errors[0].reason;
  };

  it('adds a server, whose tools can be called from the next start on', async () => {
    const added = await run('tools', 'add', 'hub', ...COMMAND);
    assert.equal(added.status, 0, added.stderr);
    assert.equal(added.stdout, 'hub.echo\nhub.echo1\nadded hub: 2 tools; haft tools show TOOL says more\n');
    assert.equal(await call('hub.echo'), 'ok');
    assert.equal(existsSync(workspace.path('haft.lock')), false);
  });

  it('refuses what it cannot ask, cannot understand, or has already', async () => {
    const refusals: readonly (readonly [args: readonly string[], status: number, says: RegExp])[] = [
      [['hub', ...COMMAND], 2, /there is a pack of that name/],
      [['Bad Name', ...COMMAND], 2, /Cannot add "Bad Name": it needs a name of small letters/],
      [['named', ...COMMAND], 2, /there is a pack of that name/],
      [['gone', '--', 'no-such-program-of-haft'], 2, /^haft: Cannot reach "gone"/],
      [['Hub', ...COMMAND], 2, /small letters/],
      [['x'], 2, /--url URL, or -- COMMAND/],
      [['x', '--url', 'https://a.example', ...COMMAND], 2, /either --url or a command/],
      [['x', '--kind', 'path', ...COMMAND], 2, /take mcp or stdio/],
      [['x', '--config', '{"comand":1}', ...COMMAND], 2, /comand/],
      [['x', '--config', '[1]', ...COMMAND], 2, /no JSON object/],
      [['x', '--frozen', ...COMMAND], 3, /while frozen/],
    ];
    for (const [args, status, says] of refusals) {
      const ran = await run('tools', 'add', ...args);
      assert.match(ran.stderr, says);
      assert.equal(ran.status, status, ran.stderr);
    }
    assert.equal(await call('x.echo'), 'tool.unknown');
  });

  it('shows the lines of haft.yaml that would admit a host', async () => {
    const { stderr, status } = await run('tools', 'add', 'x', '--url', 'https://hub.example.org/mcp');
    assert.match(stderr, /^haft: Cannot connect https:\/\/hub\.example\.org:443: the host is not among/);
    assert.match(stderr, /haft\.yaml.*\n +network:\n +allowed_domains:\n.*hub\.example\.org/);
    assert.equal(status, 2);
  });

  it('refuses a tool that MCP clients would know by the name of another', async () => {
    const state = new DatabaseSync(workspace.path('.haft/haft.db'));
    state.exec("INSERT INTO tool_names VALUES ('gone.before', 'late-echo')");
    state.close();
    const ran = await run('tools', 'add', 'late', ...COMMAND);
    assert.equal(ran.status, 2);
    assert.match(
      ran.stderr,
      /"late\.echo" from pack late: MCP clients would call it "late-echo", and that is "gone\.before"/,
    );
    assert.equal(await call('late.echo'), 'tool.unknown');
  });

  it('leaves a disabled pack out, of haft.yaml too, and brings it back', async () => {
    assert.equal((await run('tools', 'disable', 'hub')).stdout, 'disabled hub\n');
    assert.equal((await run('tools', 'disable', 'hub')).stdout, 'hub is disabled already\n');
    assert.equal((await run('tools', 'disable', 'named')).stdout, 'disabled named\n');
    assert.deepEqual([await call('hub.echo'), await call('named.echo')], ['tool.disabled', 'tool.disabled']);
    assert.equal((await run('tools', 'enable', 'named')).stdout, 'enabled named\n');
    assert.deepEqual([await call('hub.echo'), await call('named.echo')], ['tool.disabled', 'ok']);
    assert.match(
      (await run('tools', 'enable', 'hob')).stderr,
      /no such pack is installed; did you mean "hub"\?/,
    );
  });

  it('lists the packs, shows what one needs, and changes that for one that was added', async () => {
    const listed = (await run('tools', 'config')).stdout;
    assert.match(listed, /^hub +mcp +added +disabled\nnamed +mcp +haft\.yaml$/m);
    const shown = JSON.parse((await run('tools', 'config', 'hub')).stdout);
    assert.deepEqual(shown, { command: ['node', 'server/hub.mjs'] });
    const config = JSON.stringify({ ...shown, overlays: { echo1: { hide: true } } });
    assert.equal((await run('tools', 'config', 'hub', config)).stdout, 'configured hub: 1 tools\n');
    assert.equal((await run('tools', 'config', 'hub', JSON.stringify(shown))).status, 0);
    const refusals: readonly (readonly [args: readonly string[], says: RegExp])[] = [
      [['named', config], /haft\.yaml names it; change it there/],
      [['nobody', config], /no such pack is installed/],
      [['hub', '{"comand":1}'], /comand/],
      [['hub', '[]'], /no JSON object/],
      [['hub', config, '--frozen'], /while frozen/],
    ];
    for (const [args, says] of refusals) assert.match((await run('tools', 'config', ...args)).stderr, says);
    assert.match((await run('tools', 'disable', 'named', '--frozen')).stderr, /while frozen/);
    assert.match((await run('tools', 'remove', 'hub', '--frozen')).stderr, /while frozen/);
  });

  it('tells the health of each, and fails where one is unhealthy', async () => {
    const fine = await run('tools', 'health');
    assert.match(fine.stdout, /^hub +disabled\nnamed +ready$/m);
    assert.equal(fine.status, 0, fine.stderr);
    assert.equal((await run('tools', 'enable', 'hub')).status, 0);
    workspace.put('server/hub.mjs', 'process.exit(3);\n');
    const sick = await run('tools', 'health', 'hub', '--json');
    workspace.put('server/hub.mjs', hubServer('Says what it is told.', 'Another.'));
    const { ok, health } = JSON.parse(sick.stdout);
    assert.deepEqual([ok, health.length, health[0].name, health[0].status], [false, 1, 'hub', 'unhealthy']);
    assert.equal(sick.status, 70);
    assert.match((await run('tools', 'health', 'nmaed')).stderr, /did you mean "named"/);
  });

  it('keeps haft.lock in step: what is added is pinned, what is removed is not', async () => {
    assert.equal((await run('tools', 'lock')).status, 0);
    assert.match((await run('tools', 'remove', 'named')).stderr, /haft\.yaml names it/);
    assert.equal((await run('tools', 'remove', 'hub')).stdout, 'removed hub\n');
    assert.equal((await run('tools', 'lock', '--frozen')).status, 0);
    assert.ok(!readFileSync(workspace.path('haft.lock'), 'utf8').includes('"hub'));
    assert.equal((await run('tools', 'add', 'hub', ...COMMAND)).status, 0);
    assert.ok(readFileSync(workspace.path('haft.lock'), 'utf8').includes('"hub.echo1"'));
    assert.equal((await run('tools', 'lock', '--frozen')).status, 0);
    assert.match((await run('tools', 'remove', 'nobody')).stderr, /pack\.unknown/);
  });

  it('adds nothing by a state folder that came along in a copy', async () => {
    const copy = `${workspace.root}-copy`;
    cpSync(workspace.root, copy, { recursive: true });
    trustForTests(copy);
    try {
      const { stdout } = await haft(['tools', 'list', '--json'], { cwd: copy });
      const ids: string[] = JSON.parse(stdout).tools.map(({ id }: { id: string }) => id);
      assert.ok(ids.includes('named.echo') && !ids.includes('hub.echo'), ids.join(' '));
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});
