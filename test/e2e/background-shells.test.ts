// Owns: the proof that background shells work through HTTP and MCP, and that nothing of one outlives its host, however that ends.
// Refuses: to take an answer for an end: /proc is asked.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { sha256Hex } from '../../src/base/digest.ts';
import { eventually } from '../support/eventually.ts';
import { amount } from './support/amount.ts';
import { cli } from './support/cli.ts';
import { haft, NODE_ARGS, startHaft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const POLICY = "version: 1\nshell_allow: ['^(echo|cat|sleep|setsid|yes|head|tee|read|cd|pwd|exit)(\\s|$)']\n";
const NARROWER = "version: 1\nshell_allow: ['^cat(\\s|$)']\n";
const FLOOD_BYTES = 1_000_000 * amount('HAFT_FLOOD_MB', 1000, 200);

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server says
type Json = any;

/** Those whose command line holds this. */
const running = (mark: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(mark);
      } catch {
        return false;
      }
    });

async function serve(root: string) {
  const child = startHaft(['serve', '--port', '0', '--json'], { cwd: root });
  let log = '';
  child.stderr.on('data', (chunk) => {
    log += chunk;
  });
  const ended = once(child, 'close');
  const [line] = await once(createInterface(child.stdout), 'line');
  const { address, token, approval_token } = JSON.parse(line as string);
  const send = async (path: string, body: object, bearer: string): Promise<Json> => {
    const headers = { authorization: `Bearer ${bearer}` };
    return (await fetch(`${address}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  };
  const tell = (tool: string, args: object, session_id?: string) =>
    send('/v1/call', { tool, args, session_id }, token);
  return {
    pid: child.pid!,
    log: () => log,
    async end(signal: NodeJS.Signals) {
      child.kill(signal);
      await ended;
    },
    operate: (id: string, body: object) => send(`/v1/operations/${id}`, body, approval_token),
    async call(tool: string, args: object, session?: string): Promise<Json> {
      const { ok, data, errors } = await tell(tool, args, session);
      assert.ok(ok, JSON.stringify(errors));
      return data;
    },
    refused: async (tool: string, args: object, session?: string) =>
      (await tell(tool, args, session)).errors[0]?.reason,
  };
}

describe('background shells of haft serve', () => {
  let workspace: Workspace;
  let host: Awaited<ReturnType<typeof serve>>;
  before(async () => {
    workspace = makeWorkspace({ 'haft.yaml': POLICY, 'sub/a.txt': 'hello\n' });
    host = await serve(workspace.root);
  });
  after(async () => {
    await host.end('SIGKILL');
    workspace.remove();
  });
  const text = ({ output }: Json) => output.map((piece: Json) => piece.text).join('');

  it('are started, written and read by one request each', async () => {
    const { shell_id } = await host.call('shell_start', { cmd: 'bash' });
    await host.call('shell_write', { shell_id, input: 'cd sub' });
    await host.call('shell_write', { shell_id, input: 'cat a.txt' });
    assert.equal(text(await host.call('shell_read', { shell_id, wait_ms: 60_000 })), 'hello\n');
    assert.equal(await host.refused('shell_write', { shell_id, input: 'rm -rf .' }), 'shell.not_allowed');
    assert.equal(await host.refused('shell_write', { shell_id, input: "echo '" }), 'shell.unparsable');
    await host.call('shell_write', { shell_id, input: 'exit 9' });
    const end = await host.call('shell_read', { shell_id, since: 6, wait_ms: 60_000, until: 'exit' });
    assert.deepEqual([end.code, end.running, end.next], [9, false, 6]);
  });

  it('run each command of a plain shell once and in its order, whatever is read from or written to its input', async () => {
    const { shell_id } = await host.call('shell_start', { cmd: 'bash' });
    const give = (input: string) => host.call('shell_write', { shell_id, input });
    let seen = '';
    const sees = async (text: string) => {
      const { output } = await host.call('shell_read', { shell_id, wait_ms: 100 });
      seen = output.map((piece: Json) => piece.text).join('');
      return seen.includes(text);
    };
    await give('echo first');
    // Tells the shell to take the first command again, and takes away what tells it of the next one.
    await give('echo 1 | tee /proc/$$/fd/10 /proc/$$/fd/3; echo told');
    await give('head -n 1 <&10 & sleep 0.2');
    await give('echo second');
    await give('echo third');
    await eventually(
      () => sees('third'),
      () => `the third: ${seen}`,
    );
    await sees('third');
    assert.deepEqual(seen.match(/first|second|third/g), ['first', 'second', 'third'], seen);
    await host.call('shell_signal', { shell_id, signal: 'KILL' });
  });

  it('end with their session, and are nothing to another', async () => {
    await host.operate('sessions.open', { id: 'one' });
    await host.operate('sessions.open', { id: 'two' });
    const { shell_id } = await host.call('shell_start', { cmd: 'setsid sleep 7101' }, 'one');
    await eventually(() => running('sleep 7101').length > 0, 'the sleeper');
    const kill = { shell_id, signal: 'KILL' };
    assert.equal(await host.refused('shell_signal', kill, 'two'), 'shell.unknown');
    assert.equal(await host.refused('shell_signal', kill), 'shell.unknown');
    assert.ok(running('sleep 7101').length > 0);
    await host.operate('sessions.end', { session: 'one' });
    assert.deepEqual(running('sleep 7101'), []);
  });

  it('end when another process ends their session', async () => {
    await host.operate('sessions.open', { id: 'far' });
    await host.call('shell_start', { cmd: 'sleep 7102' }, 'far');
    await eventually(() => running('sleep 7102').length > 0, 'the sleeper');
    assert.equal((await cli(workspace.root, 'sessions', 'end', 'far')).status, 0);
    await eventually(() => running('sleep 7102').length === 0, 'its end');
  });

  it('stay within memory, however much is printed', async () => {
    const { shell_id } = await host.call('shell_start', {
      cmd: `yes 0123456789abcdef | head -c ${FLOOD_BYTES}`,
    });
    const end = await host.call('shell_read', {
      shell_id,
      since: FLOOD_BYTES - 1,
      wait_ms: 600_000,
      until: 'exit',
    });
    assert.deepEqual([end.next, end.running, end.code], [FLOOD_BYTES, false, 0]);
    const peak = /^VmHWM:\s*(\d+) kB/m.exec(readFileSync(`/proc/${host.pid}/status`, 'utf8'))?.[1];
    assert.ok(Number(peak) < 400 * 1024, `${peak} kB`);
  });

  it('end with a policy that no longer allows them, and say so', async () => {
    const { shell_id } = await host.call('shell_start', { cmd: 'sleep 7103' });
    const kept = await host.call('shell_start', { cmd: 'cat' });
    writeFileSync(workspace.path('haft.yaml'), NARROWER);
    assert.equal((await cli(workspace.root, 'trust', '--sha256', sha256Hex(NARROWER))).status, 0);
    await eventually(
      () => running('sleep 7103').length === 0,
      () => `its end; ${host.log()}`,
    );
    const { running: isRunning, ended } = await host.call('shell_read', { shell_id });
    assert.deepEqual([isRunning, ended.reason], [false, 'policy.denied']);
    assert.match(ended.message, /policy changed.*sleep 7103/);
    assert.equal((await host.call('shell_read', { shell_id: kept.shell_id })).running, true);
  });

  it('end when haft.yaml is replaced: from then on they could write it', async () => {
    const { shell_id } = await host.call('shell_start', { cmd: 'cat' });
    writeFileSync(workspace.path('haft.yaml.new'), NARROWER);
    renameSync(workspace.path('haft.yaml.new'), workspace.path('haft.yaml'));
    const { ended } = await host.call('shell_read', { shell_id, wait_ms: 60_000, until: 'exit' });
    assert.equal(ended.reason, 'sandbox.fence_fell');
    assert.match(ended.message, /haft\.yaml/);
  });
});

describe('the end of a host with background shells', () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    it(`by ${signal} leaves no process, and the audit says what became of them`, async () => {
      const workspace = makeWorkspace({ 'haft.yaml': POLICY });
      try {
        const host = await serve(workspace.root);
        const { shell_id } = await host.call('shell_start', { cmd: 'bash' });
        await host.call('shell_write', { shell_id, input: 'setsid sleep 7104 & sleep 7104' });
        const other = await host.call('shell_start', { cmd: 'sleep 7104' });
        await eventually(() => running('sleep 7104').length >= 3, 'the sleepers');
        await host.end(signal);
        await eventually(() => running('sleep 7104').length === 0, 'their end');
        const next = await serve(workspace.root);
        const { rows } = await next.operate('audit.list', { tool: 'shell_start' });
        await next.end('SIGTERM');
        for (const id of [shell_id, other.shell_id]) {
          const outcome = rows.findLast((row: Json) => row.call_id === id);
          assert.equal(outcome?.outcome, signal === 'SIGKILL' ? 'lost' : 'failed', JSON.stringify(rows));
        }
      } finally {
        workspace.remove();
      }
    });

  it('is that of its one call with haft call: none is started', async () => {
    const workspace = makeWorkspace({ 'haft.yaml': POLICY });
    const args = JSON.stringify({ cmd: 'sleep 7105' });
    const { status, stdout, stderr } = await haft(['call', 'shell_start', args], { cwd: workspace.root });
    assert.equal(JSON.parse(stdout).errors[0].reason, 'shell.host');
    assert.match(stderr, /haft serve.*haft mcp/);
    assert.equal(status, 6);
    assert.deepEqual(running('sleep 7105'), []);
    workspace.remove();
  });
});

describe('background shells of haft mcp', () => {
  it('print as progress while a read waits, and end with the connection', async () => {
    const workspace = makeWorkspace({ 'haft.yaml': POLICY });
    const client = new Client({ name: 'test', version: '1.0.0' });
    const args = [...NODE_ARGS, 'mcp', '--workspace', workspace.root, '--output-schemas'];
    const env = { ...process.env } as Record<string, string>;
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env }));
    try {
      const call = async (
        name: string,
        given: Json,
        onprogress?: (progress: Json) => void,
      ): Promise<Json> => {
        const answer = await client.callTool(
          { name, arguments: given },
          undefined,
          onprogress ? { onprogress } : {},
        );
        assert.ok(!answer.isError, JSON.stringify(answer));
        return answer.structuredContent;
      };
      const { shell_id } = await call('shell_start', {
        cmd: 'read -r x; echo "got $x"; read -r y; echo "then $y"',
      });
      const told: string[] = [];
      const reading = call('shell_read', { shell_id, wait_ms: 60_000, until: 'exit' }, ({ message }) =>
        told.push(message),
      );
      await call('shell_write', { shell_id, input: 'one\n' });
      await eventually(() => told.includes('got one'), 'the first line as progress');
      await call('shell_write', { shell_id, input: 'two\n' });
      const { output, code } = await reading;
      assert.deepEqual([output, code], [[{ stream: 'stdout', text: 'got one\nthen two\n' }], 0]);
      await call('shell_start', { cmd: 'sleep 7106' });
      await eventually(() => running('sleep 7106').length > 0, 'the sleeper');
    } finally {
      await client.close();
    }
    await eventually(() => running('sleep 7106').length === 0, 'its end');
    workspace.remove();
  });
});
