// Owns: the proof that a server which dies is found out, left alone with a hint, and used again once it is back.
// Refuses: fakes: a real daemon, a real MCP server over pipes, killed by a signal.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { describe, it } from 'node:test';
import { crashPrograms } from '../../src/adapters/fixtures-for-tests.ts';
import { createDefaultRuntime } from '../../src/preset/default.ts';
import { haft } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';
import { inTime } from './support/in-time.ts';
import { startLivingHost } from './support/living-host.ts';
import { type Server, startServer } from './support/server.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const policy = (script: string) => `version: 1
packs:
  - name: hub
    mcp:
      command: [node, ${script}]
      caps: { filesystem: { read: [state] } }
      health: { interval_ms: 500, timeout_ms: 2000, failure_threshold: 3 }
`;

/** Its code runs from a copy, so what keeps it from starting is a file that it may read. */
function hubWorkspace(): Workspace {
  const workspace = makeWorkspace({ 'state/up': '' });
  const down = JSON.stringify(workspace.path('state/down'));
  const check = `import { existsSync } from 'node:fs';\nif (existsSync(${down})) process.exit(1);\n`;
  workspace.put('hub/hub.mjs', check + hubServer('Says it back.'));
  workspace.put('haft.yaml', policy(workspace.path('hub/hub.mjs')));
  return workspace;
}

const echo = JSON.stringify({ type: 'ToolRequest', tool: 'hub.echo', args: { text: 'hi' } });
const callHub = async (server: Server) => (await server.post('/v1/call', echo)).json;

describe('a server that dies', () => {
  it('is unhealthy after so many failures, refused with a hint, and used again once it is back', async () => {
    const workspace = hubWorkspace();
    const server = await startServer(workspace.root);
    try {
      assert.equal((await callHub(server)).ok, true);
      renameSync(workspace.path('state/up'), workspace.path('state/down'));
      crashPrograms('node', workspace.path('hub/hub.mjs'));

      const seen: string[] = [];
      const untilRefused = async () => {
        for (;;) {
          const { ok, errors } = await callHub(server);
          assert.equal(ok, false);
          seen.push(errors[0].reason);
          if (/its health check fails/.test(errors[0].message)) return errors[0];
        }
      };
      const refusal = await inTime(untilRefused(), 'finding out');
      assert.equal(refusal.reason, 'tool.unhealthy');
      assert.match(refusal.message, /Cannot use "hub": .*tried again in \d+ s, and "haft tools health hub"/);
      assert.equal(typeof refusal.details.retry_after_ms, 'number');
      for (const reason of seen)
        assert.ok(['tool.unhealthy', 'call.outcome_unknown'].includes(reason), reason);

      const command = await haft(['tools', 'health'], { cwd: workspace.root });
      assert.equal(command.status, 70);
      assert.match(command.stdout, /hub +unhealthy/);
      assert.match((await haft(['tools', 'list'], { cwd: workspace.root })).stdout, /hub\.echo +unhealthy/);

      renameSync(workspace.path('state/down'), workspace.path('state/up'));
      const untilBack = async () => {
        while (!(await callHub(server)).ok);
      };
      await inTime(untilBack(), 'coming back');
      assert.match((await haft(['tools', 'health'], { cwd: workspace.root })).stdout, /hub +ready/);
      assert.match((await haft(['tools', 'list'], { cwd: workspace.root })).stdout, /hub\.echo +reads/);
    } finally {
      assert.equal(await server.close(), 0);
      workspace.remove();
    }
  });

  it('is the same at every door, once a person looked', async () => {
    const workspace = hubWorkspace();
    // Nothing but the look of a person would find out in this time.
    const slow = policy(workspace.path('hub/hub.mjs')).replace('interval_ms: 500', 'interval_ms: 3600000');
    workspace.put('haft.yaml', slow);
    const host = await startLivingHost(workspace.root);
    const doors = async () => {
      const { json: looked } = await host.manage('GET', '/v1/health?name=hub');
      const { json: listed } = await host.ask('GET', '/v1/tools');
      const { json: tool } = await host.ask('GET', '/v1/tools/hub.echo');
      const { json: installed } = await host.manage('GET', '/v1/installations/hub');
      const pack = listed.packs.find(({ name }: { name: string }) => name === 'hub');
      return [looked.health[0], pack, tool.health, installed.health].map(({ status, message = '' }) => ({
        status,
        message,
      }));
    };
    try {
      assert.equal((await host.call('hub.echo', { text: 'a' })).reason, 'ok');
      renameSync(workspace.path('state/up'), workspace.path('state/down'));
      crashPrograms('node', workspace.path('hub/hub.mjs'));
      const down = await inTime(doors(), 'the doors');
      assert.equal(down[0]?.status, 'unhealthy');
      for (const one of down) assert.deepEqual(one, down[0]);
      assert.equal((await host.call('hub.echo', { text: 'a' })).reason, 'tool.unhealthy');
      const listed = await haft(['tools', 'list', '--json'], { cwd: workspace.root });
      const [pack] = JSON.parse(listed.stdout).packs;
      assert.deepEqual([pack.status, pack.message], [down[0]?.status, down[0]?.message]);
      renameSync(workspace.path('state/down'), workspace.path('state/up'));
      for (const one of await inTime(doors(), 'the doors')) assert.equal(one.status, 'ready');
      assert.equal((await host.call('hub.echo', { text: 'a' })).reason, 'ok');
    } finally {
      await host.close();
      workspace.remove();
    }
  });

  it('tells of each change, in the listing too, and comes back by itself in a host that stays', async () => {
    const workspace = hubWorkspace();
    const runtime = await createDefaultRuntime({ workspace: workspace.root, living: true });
    const changes: string[] = [];
    const waiting = new Map<string, () => void>();
    runtime.subscribe(({ event, data }) => {
      if (event !== 'HealthChanged') return;
      const { installation, status } = data as { installation: string; status: string };
      changes.push(`${installation} ${status}`);
      waiting.get(status)?.();
    });
    const until = (status: string) =>
      inTime(new Promise<void>((resolve) => waiting.set(status, resolve)), `to become ${status}`);
    const listed = () => runtime.tools().find(({ contract }) => contract.id === 'hub.echo');
    try {
      assert.deepEqual([listed()?.health?.status, runtime.installations.asleep('hub')], ['unverified', true]);
      const ready = until('ready');
      assert.equal((await runtime.call({ tool: 'hub.echo', args: { text: 'a' } })).ok, true);
      await ready;
      assert.equal(runtime.installations.asleep('hub'), false);
      const unhealthy = until('unhealthy');
      renameSync(workspace.path('state/up'), workspace.path('state/down'));
      crashPrograms('node', workspace.path('hub/hub.mjs'));
      await unhealthy;
      assert.deepEqual([listed()?.enabled, listed()?.health?.status], [true, 'unhealthy']);
      // Who only asks what policy says starts nothing.
      const { unseen } = await runtime.policy.explain({ tool: 'hub.echo', args: { text: 'a' } });
      assert.match(String(unseen), /when it was last looked at, it could not/);
      assert.equal(listed()?.health?.status, 'unhealthy');
      const { errors } = await runtime.call({ tool: 'hub.echo', args: { text: 'a' } });
      assert.equal(errors[0]?.reason, 'tool.unhealthy');
      const back = until('ready');
      renameSync(workspace.path('state/down'), workspace.path('state/up'));
      await back;
      assert.equal((await runtime.call({ tool: 'hub.echo', args: { text: 'a' } })).ok, true);
      assert.deepEqual(changes, ['hub ready', 'hub degraded', 'hub unhealthy', 'hub ready']);
    } finally {
      await runtime.close();
      workspace.remove();
    }
  });
});
