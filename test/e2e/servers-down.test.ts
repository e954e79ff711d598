// Owns: the proof that servers which hang, die, flood or lie delay nobody else, and are listed with their reason at every door.
// Refuses: timing: what must not wait is answered while what hangs is still pending.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { BAD_SERVERS, PROTOCOL_BREAKERS } from './support/bad-servers.ts';
import { haft } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';
import { inTime } from './support/in-time.ts';
import { startMcp } from './support/mcp-lines.ts';
import { startServer } from './support/server.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const GOOD = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((letter) => `good_${letter}`);
const entry = (name: string, more = '') =>
  `  - { name: ${name}, mcp: { command: [node, ${name}/server.mjs]${more} } }\n`;
/** It is still pending when all else is over. */
const PATIENT = ', start_timeout_ms: 900000';

function twelve(): Workspace {
  const bad = Object.keys(BAD_SERVERS).map((name) => entry(name, name === 'hangs' ? PATIENT : ''));
  const workspace = makeWorkspace({
    'haft.yaml': `version: 1\npacks:\n${bad.join('')}${GOOD.map((name) => entry(name)).join('')}`,
    'a.txt': 'a\n',
  });
  for (const name of GOOD) workspace.put(`${name}/server.mjs`, hubServer('Says it back.'));
  for (const [name, source] of Object.entries(BAD_SERVERS)) workspace.put(`${name}/server.mjs`, source);
  return workspace;
}

const request = (tool: string, args: object) => JSON.stringify({ type: 'ToolRequest', tool, args });

interface State {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly problems?: readonly string[];
}

/** What every door has to say of the four. */
function assertReasons(packs: readonly State[], settled = true): void {
  const of = (name: string) => packs.find((one) => one.name === name) as State;
  assert.equal(packs.length, 12);
  assert.match(of('dies').message ?? '', /ended with code 3 before it was ready: FatalError: no licence/);
  assert.match(of('floods').message ?? '', /floods its standard output with what is no message/);
  if (settled) assert.match(of('hangs').message ?? '', /did not answer within|no answer within/);
  for (const name of ['dies', 'floods']) assert.equal(of(name).status, 'unhealthy', name);
  const problems = (of('lies').problems ?? []).join('\n');
  assert.match(problems, /"lies\.odd" cannot be used: its input schema does not compile/);
  assert.match(problems, /several tools that would be lies\.do_it \(do-it, do_it\)/);
  for (const name of GOOD) assert.notEqual(of(name).status, 'unhealthy', name);
}

describe('twelve servers, of which four hang, die, flood or lie', { timeout: 300_000 }, () => {
  let workspace: Workspace;
  before(() => {
    workspace = twelve();
  });
  after(() => workspace.remove());
  const run = (...args: readonly string[]) => haft(args, { cwd: workspace.root });
  const call = async (tool: string, args = '{"text":"hi"}') =>
    JSON.parse((await run('call', tool, args)).stdout);

  it('delay no call that does not need them, in a host that stays', async () => {
    const server = await startServer(workspace.root);
    try {
      let pending = true;
      const hanging = server.post('/v1/call', request('hangs.echo', {})).catch(() => {});
      void hanging.then(() => {
        pending = false;
      });
      const answers = await inTime(
        Promise.all([
          server.post('/v1/call', request('file_read', { path: 'a.txt' })),
          ...GOOD.map((name) => server.post('/v1/call', request(`${name}.echo`, { text: name }))),
        ]),
        'calls that need none of the four',
        120_000,
      );
      for (const { json } of answers) assert.equal(json.ok, true, JSON.stringify(json));
      assert.equal(pending, true, 'what hangs is still waited for by the one call that needs it');

      for (const [tool, reason, says] of [
        ['dies.echo', 'tool.unhealthy', /the pack "dies" is not there: .*no licence for this machine/],
        ['floods.echo', 'tool.unhealthy', /the pack "floods" is not there: .*floods its standard output/],
        ['lies.odd', 'pack.invalid', /its input schema does not compile/],
        [
          'lies.do_it',
          'pack.invalid',
          /Cannot call "lies\.do_it": "lies" has several tools of that name: do-it, do_it/,
        ],
        ['lies.bare', 'pack.invalid', /Cannot call "lies\.bare": "bare" has no input schema/],
        ['lies.none', 'tool.unknown', /no such tool/],
      ] as const) {
        const { json } = await server.post('/v1/call', request(tool, {}));
        assert.deepEqual([json.ok, json.errors[0].reason], [false, reason], tool);
        assert.match(json.errors[0].message, says);
      }
      const listed = (await server.get('/v1/tools')).json;
      assertReasons(listed.packs);
      const ids: string[] = listed.tools.map(({ id }: { id: string }) => id);
      for (const name of GOOD) assert.ok(ids.includes(`${name}.echo`), name);
      assert.ok(ids.includes('lies.fine') && !ids.includes('lies.odd'));
      const one = await server.get('/v1/tools/dies.echo');
      assert.equal(
        one.json.errors?.[0]?.reason ?? one.json.error?.reason ?? one.json.reason,
        'tool.unhealthy',
      );
      assert.equal(pending, true);
    } finally {
      await server.close();
    }
  });

  it('are listed with their reason on the command line, and what they wrote is kept', async () => {
    assertReasons(JSON.parse((await run('tools', 'list', '--json')).stdout).packs);
    const listed = await run('tools', 'list');
    assert.match(listed.stdout, /dies\.\* +not there +Cannot reach "dies": .*no licence/);
    assert.match(listed.stdout, /hangs\.\* +not there +Cannot/);
    assert.match(listed.stderr, /"lies\.odd" cannot be used/);
    assert.match(
      (await run('tools', 'logs', 'dies')).stdout,
      /FatalError: no licence for this machine\n.* -- ended with code 3/,
    );
    assert.match((await run('tools', 'logs', 'hangs')).stdout, /waiting for a key that nobody brings/);
    assert.match((await run('tools', 'logs', 'nobody')).stderr, /no such pack/);
    const shown = await run('tools', 'show', 'dies.echo');
    assert.match(shown.stderr, /the pack "dies" is not there.*tool\.unhealthy/s);
    const { errors } = await call('dies.echo');
    assert.equal(errors[0].reason, 'tool.unhealthy');
    assert.match(errors[0].details.stderr, /no licence/);
  });

  it('are known to MCP clients by what the others are, and by an error that says what is wrong', async () => {
    const client = startMcp(workspace.root);
    try {
      const ask = (id: number, method: string, params: object) =>
        client.ask(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      const listed = await ask(1, 'tools/list', {});
      const names: string[] = listed.result.tools.map(({ name }: { name: string }) => name);
      for (const name of GOOD)
        assert.ok(
          names.some((one) => one.startsWith(name)),
          name,
        );
      const answer = await ask(2, 'tools/call', { name: 'dies.echo', arguments: {} });
      assert.equal(answer.result.isError, true);
      assert.match(JSON.stringify(answer.result), /no licence for this machine/);
    } finally {
      await client.close();
    }
  });

  it('stay known by what they had, once they were there', async () => {
    assert.equal((await call('good_a.echo')).ok, true);
    workspace.put('good_a/server.mjs', BAD_SERVERS.dies);
    const ids = JSON.parse((await run('tools', 'list', '--json')).stdout).tools.map(
      ({ id }: { id: string }) => id,
    );
    assert.ok(ids.includes('good_a.echo'));
    const { errors } = await call('good_a.echo');
    assert.equal(errors[0].reason, 'tool.unhealthy', JSON.stringify(errors));
    assert.match(errors[0].message, /no licence/);
    workspace.put('good_a/server.mjs', hubServer('Says it back.'));
    await eventually(async () => (await call('good_a.echo')).ok, 'the server is there again');
  });
});

describe('servers that break the protocol', { timeout: 300_000 }, () => {
  const names = Object.keys(PROTOCOL_BREAKERS);
  let workspace: Workspace;
  before(() => {
    const line = (name: string) =>
      `  - { name: ${name}, ${name.startsWith('line_') ? 'stdio' : 'mcp'}: { command: [node, ${name}/server.mjs] } }\n`;
    workspace = makeWorkspace({
      'haft.yaml': `version: 1\npacks:\n${names.map(line).join('')}`,
      'a.txt': 'a\n',
    });
    for (const [name, source] of Object.entries(PROTOCOL_BREAKERS))
      workspace.put(`${name}/server.mjs`, source);
  });
  after(() => workspace.remove());

  it('are unhealthy with their reason, and so are calls of their tools; other calls fail at once and say why', async () => {
    const server = await startServer(workspace.root);
    try {
      for (const [tool, reason, says] of [
        ['line_refuses.x', 'tool.unhealthy', /it refuses its greeting: no licence/],
        ['line_null.x', 'tool.unhealthy', /its "tools" is null, not a list/],
        ['line_many.t1', 'tool.unhealthy', /it has 20000 or more, over the limit of 2000/],
        ['list_text.x', 'tool.unhealthy', /"tools" of its answer is "x", not a list/],
        ['list_none.x', 'tool.unhealthy', /its answer has no "tools"/],
        ['line_odd.do_it', 'pack.invalid', /several tools of that name: do-it, do_it/],
        ['line_odd.bare', 'pack.invalid', /"bare" has no input schema/],
        ['line_odd.deep', 'output.schema', /nested more than 64 levels deep/],
        ['line_odd.blank', 'tool.failed', /broke the protocol.*it has no "ok"/],
        ['list_odd.deep', 'output.schema', /nested more than 64 levels deep/],
        ['list_odd.blank', 'tool.failed', /broke the protocol.*its result is null/],
      ] as const) {
        const { json } = await inTime(server.post('/v1/call', request(tool, {})), tool);
        assert.deepEqual([json.ok, json.errors[0].reason], [false, reason], JSON.stringify(json));
        assert.match(json.errors[0].message, says);
      }
      for (const pack of ['line_odd', 'list_odd']) {
        const { json } = await server.post('/v1/call', request(`${pack}.tree`, { kids: [{ kids: [] }] }));
        assert.equal(json.ok, true, JSON.stringify(json));
        const refused = (await server.post('/v1/call', request(`${pack}.tree`, { kids: [{ kids: 1 }] })))
          .json;
        assert.equal(refused.errors[0].reason, 'input.schema');
      }
      const { packs } = (await server.get('/v1/tools')).json as { packs: readonly State[] };
      for (const name of ['line_refuses', 'line_null', 'line_many', 'list_text', 'list_none']) {
        const { status, message = '' } = packs.find((one) => one.name === name) as State;
        assert.deepEqual([status, message !== ''], ['unhealthy', true], name);
      }
    } finally {
      await server.close();
    }
    const { stdout } = await haft(['tools', 'list'], { cwd: workspace.root });
    assert.match(
      stdout,
      /line_refuses\.\* +not there +Cannot reach "line_refuses": it refuses its greeting: no licence/,
    );
  });
});
