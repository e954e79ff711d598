// Owns: the proof that a person can judge a call that waits for them, that their answer holds for what they saw, and that
// the audit says who gave it.
// Not here: that an approval is for one call, once, and not for ever (approvals.test.ts).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createRuntime, type DefaultRuntime } from '../../src/index.ts';
import { cli, cliJson } from './support/cli.ts';
import { startServer } from './support/server.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const POLICY = `version: 1
shell_allow:
  - { pattern: '^make(\\s|$)', decision: ask }
paths:
  rules:
    - { path: "locked/**", write: ask }
    - { path: "locked/secret", read: deny }
`;
const TOKEN = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;

describe('what an approval shows', () => {
  let workspace: Workspace;
  let runtime: DefaultRuntime;
  beforeEach(async () => {
    workspace = makeWorkspace({
      'haft.yaml': POLICY,
      'locked/f.txt': 'one\ntwo\n',
      'locked/secret': 'hidden words\n',
      'draft.txt': 'echo harmless\n',
    });
    runtime = await createRuntime({ workspace: workspace.root });
  });
  afterEach(async () => {
    await runtime.close();
    workspace.remove();
  });

  const ask = async (tool: string, args: Record<string, unknown>) => {
    const { errors } = await runtime.call({ tool, args: args as never });
    assert.equal(errors[0]?.reason, 'approval.pending', JSON.stringify(errors));
    return runtime.approvals.show(errors[0]?.details?.approval_id as string);
  };

  it('is the diff of a file that is written, patched, deleted, moved or copied there', async () => {
    const diffOf = async (tool: string, args: Record<string, unknown>) =>
      (await ask(tool, args)).details?.diff ?? '';
    assert.match(await diffOf('file_write', { path: 'locked/f.txt', content: 'one\n2\n' }), /^-two\n\+2$/m);
    assert.match(await diffOf('file_edit', { path: 'locked/f.txt', old: 'two', new: '2' }), /^-two\n\+2$/m);
    assert.match(
      await diffOf('file_patch', { path: 'locked/f.txt', unified_diff: '@@ -1,2 +1,2 @@\n-one\n+1\n two\n' }),
      /^-one\n\+1$/m,
    );
    assert.match(await diffOf('fs_delete', { path: 'locked/f.txt' }), /^-one\n-two$/m);
    assert.match(await diffOf('fs_move', { src: 'draft.txt', dst: 'locked/run' }), /^\+echo harmless$/m);
    const copy = { src: 'draft.txt', dst: 'locked/f.txt', overwrite: true };
    assert.match(await diffOf('fs_copy', copy), /^-one\n-two\n\+echo harmless$/m);
  });

  it('says of a write that changes nothing that nothing would change', async () => {
    const args = { path: 'locked/f.txt', content: 'one\ntwo\n' };
    const same = await ask('file_write', args);
    assert.deepEqual(same.details?.notes, ['nothing would change: what is there is already like it']);
    const bits = await ask('file_write', { ...args, mode_octal: '0755' });
    assert.doesNotMatch(bits.details?.notes.join() ?? '', /nothing would change/);
  });

  it('is the whole of a command: line, folder, environment and standard input, without secrets', async () => {
    const { details } = await ask('shell_exec', {
      cmd: 'make all',
      env: { DB_PASSWORD: 'hunter2hunter2', MODE: 'fast' },
      stdin: `token ${TOKEN}\n`,
    });
    assert.deepEqual(details?.args, {
      cmd: 'make all',
      cwd: '.',
      env: { DB_PASSWORD: '[redacted]', MODE: 'fast' },
      stdin: 'token [redacted]\n',
      allow_network: false,
      timeout_ms: 600_000,
    });
  });

  it('holds no secret in what the call would do, nor in what would admit it, whoever looks', async () => {
    const secrets = ['hunter2', 'tok12345678901', 'pw98765', 'b4rer-value', 'abc123', 'db-word-9'];
    const cmd =
      "make --password hunter2 --token=tok12345678901 https://u:pw98765@h/ -H 'x-bearer: b4rer-value'";
    const asked = await ask('shell_exec', {
      cmd,
      stdin: 'password: abc123\n',
      env: { DB_PASS: 'db-word-9' },
    });
    const shown = [
      JSON.stringify(asked),
      (await cli(workspace.root, 'approvals', 'show', asked.id)).stdout,
      (await cli(workspace.root, 'approvals', 'list')).stdout,
      JSON.stringify(await cliJson(workspace.root, 'approvals', 'show', asked.id)),
    ];
    for (const text of shown) {
      assert.match(text, /run make --password \[redacted\]|"command":"make --password \[redacted\]/);
      for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} in ${text}`);
    }
    const content = 'password=abc123\n';
    assert.match(
      (await ask('file_write', { path: 'locked/s', content })).details?.diff ?? '',
      /password=\[redacted\]/,
    );
  });

  it('holds no secret of a diff, and nothing that policy denies to read', async () => {
    const written = await ask('file_write', { path: 'locked/k', content: `key: ${TOKEN}\n` });
    assert.ok(!JSON.stringify(written).includes(TOKEN));
    const over = await ask('file_write', { path: 'locked/secret', content: 'x' });
    assert.ok(!JSON.stringify(over).includes('hidden words'));
    assert.deepEqual(over.details?.notes, ['what it would replace is not shown: policy denies to read it']);
  });

  it('ends early and says so', async () => {
    const content = `${'line\n'.repeat(40_000)}`;
    const { details } = await ask('file_write', { path: 'locked/long', content });
    assert.ok(JSON.stringify(details).length < 300_000);
    assert.match(details?.notes.join('\n') ?? '', /the diff is cut: \d+ more.*\ncontent is cut: \d+ more/s);
  });

  it('reads the same at the command line and over HTTP', async () => {
    const { id } = await ask('file_write', { path: 'locked/f.txt', content: 'one\n\u001b[1A2\n' });
    const shown = await cli(workspace.root, 'approvals', 'show', id);
    assert.match(shown.stdout, /^ {2}argument content\n {2}\| one\n {2}\| \\u001b\[1A2$/m);
    assert.match(shown.stdout, /^ {2}\| -two\n {2}\| \+\\u001b\[1A2$/m);
    assert.ok((await cli(workspace.root, 'approvals', 'list')).stdout.includes(shown.stdout));
    const { document } = await cliJson(workspace.root, 'approvals', 'show', id);
    assert.match(document.approval.details.diff, /^-two$/m);
    const HAFT_APPROVAL_TOKEN = 'approves-what-was-asked-0123456789';
    const server = await startServer(workspace.root, { HAFT_APPROVAL_TOKEN });
    try {
      const get = async (path: string) =>
        (await server.get(path, { authorization: `Bearer ${HAFT_APPROVAL_TOKEN}` })).json;
      assert.deepEqual(await get(`/v1/approvals/${id}`), document.approval);
      assert.deepEqual(await get('/v1/approvals'), { approvals: [document.approval] });
      assert.notEqual((await server.get(`/v1/approvals/${id}`)).status, 200, 'the token for calls');
    } finally {
      await server.close();
    }
  });

  it('binds the answer: what became another change since is asked about anew', async () => {
    const args = { src: 'draft.txt', dst: 'locked/run' };
    const first = await ask('fs_move', args);
    await runtime.approvals.decide(first.id, 'granted', 'ann');
    workspace.put('draft.txt', 'echo harmful!\n');
    const second = await ask('fs_move', args);
    assert.notEqual(second.id, first.id);
    assert.match(second.details?.diff ?? '', /^\+echo harmful!$/m);
    workspace.put('draft.txt', 'echo harmless\n');
    assert.equal((await runtime.call({ tool: 'fs_move', args })).ok, true);
    assert.equal(readFileSync(workspace.path('locked/run'), 'utf8'), 'echo harmless\n');
  });

  it('is named in the audit, with who decided', async () => {
    const args = { path: 'locked/f.txt', content: 'x' };
    const { id } = await ask('file_write', args);
    assert.equal((await cli(workspace.root, 'approvals', 'grant', id)).status, 0);
    const { callId } = await runtime.call({ tool: 'file_write', args });
    const by = (await runtime.approvals.show(id)).decidedBy;
    assert.match(by ?? '', /^cli:./);
    for (const { facts } of await runtime.audit.rows({ callId, limit: 10 }))
      assert.deepEqual(facts?.approval, { id, decided_by: by });
    assert.equal((await cli(workspace.root, 'audit', 'verify')).status, 0);
  });
});
