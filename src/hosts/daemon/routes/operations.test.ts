// Owns: statuses and refusals of operations over HTTP; test/e2e/operations.test.ts has what they answer.
// Refuses: operations themselves.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeWorkspace } from '../../../../test/e2e/support/workspace.ts';
import { createRuntime, type DefaultRuntime } from '../../../index.ts';
import { createDaemon, type Daemon } from '../create-daemon.ts';

const TOKENS = { calls: 'calls-0123456789', management: 'manage-0123456789' };

interface Answer {
  readonly ok?: boolean;
  readonly reason?: string;
  readonly details?: { readonly admit?: string };
  readonly errors?: readonly { readonly reason: string }[];
}

describe('an operation over HTTP', () => {
  const workspace = makeWorkspace({ 'a.txt': 'a\n', '.env': 'KEY=1\n' });
  const outside = mkdtempSync(join(tmpdir(), 'haft-outside-'));
  let runtime: DefaultRuntime;
  let daemon: Daemon;

  before(async () => {
    writeFileSync(join(outside, 'p.yaml'), 'SECRETVALUE: 1\n');
    symlinkSync(join(outside, 'p.yaml'), join(workspace.root, 'l.yaml'));
    runtime = await createRuntime({ workspace: workspace.root });
    daemon = await createDaemon({ runtime, version: '0', host: '127.0.0.1', port: 0, tokens: TOKENS });
  });
  after(async () => {
    await daemon.close();
    await runtime.close();
    workspace.remove();
    rmSync(outside, { recursive: true });
  });

  const post = async (path: string, body: object, token = TOKENS.management) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${daemon.address}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Answer };
  };

  it('that is a call has the status of the call', async () => {
    const call = { type: 'ToolRequest', tool: 'undo', args: { call_id: 'call_nothing' } };
    const called = await post('/v1/call', call, TOKENS.calls);
    const asked = await post('/v1/operations/undo', { call: 'call_nothing' }, TOKENS.calls);
    assert.equal(asked.body.ok, false);
    assert.notEqual(asked.status, 200);
    assert.deepEqual(
      [asked.status, asked.body.errors?.[0]?.reason],
      [called.status, called.body.errors?.[0]?.reason],
    );
  });

  it('that is refused says all that the command line says', async () => {
    const { status, body } = await post('/v1/operations/tools.add', {
      name: 'u',
      url: 'https://mcp.example.org/',
    });
    assert.notEqual(status, 200);
    assert.match(body.details?.admit ?? '', /mcp\.example\.org/);
  });

  it('that there is none of is a 404 for whoever has a token', async () => {
    for (const token of Object.values(TOKENS))
      assert.equal((await post('/v1/operations/nope', {}, token)).status, 404);
    assert.equal((await post('/v1/operations/nope', {}, 'wrong-0123456789')).status, 401);
  });

  it('reads no policy outside of the workspace, by no name', async () => {
    for (const file of ['l.yaml', '../p.yaml', join(outside, 'p.yaml')]) {
      const { body } = await post('/v1/operations/policy.check', { file });
      assert.equal(body.reason, 'path.outside_workspace', file);
      assert.doesNotMatch(JSON.stringify(body), /SECRETVALUE/);
    }
  });

  it('opens no session under an id that has ended or that is not for calls', async () => {
    const open = (id: string) => post('/v1/operations/sessions.open', { id });
    assert.equal((await open('x1')).status, 200);
    assert.equal((await post('/v1/operations/sessions.end', { session: 'x1' })).status, 200);
    assert.equal((await open('x1')).body.reason, 'session.expired');
    assert.equal((await open('management')).body.reason, 'usage');
  });

  it('and calls keep their attribution short, since rows are kept', async () => {
    const args = { path: 'a.txt', content: 'b', attribution: { k: 'A'.repeat(20_000) } };
    const { body } = await post('/v1/call', { type: 'ToolRequest', tool: 'file_write', args }, TOKENS.calls);
    assert.equal(body.errors?.[0]?.reason, 'input.too_large');
  });
});
