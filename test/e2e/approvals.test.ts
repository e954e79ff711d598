// Owns: the proof that an approval lets exactly the granted call through, exactly once, and not for ever.
// Refuses: to look inside: everything goes through the runtime or the command line.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { ERRORS } from '../../src/index.ts';
import { createDefaultRuntime } from '../../src/preset/default.ts';
import { processIdentity } from '../../src/stores/process-identity.ts';
import { openSqliteStore } from '../../src/stores/sqlite/open-sqlite-store.ts';
import { eventually } from '../support/eventually.ts';
import { cli, cliJson } from './support/cli.ts';
import { makeClock } from './support/clock.ts';
import { haft } from './support/haft.ts';
import { staged } from './support/staged.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

/** Asks for the call and grants it. */
async function grant(root: string, tool: string, args: string): Promise<string> {
  const { document } = await cliJson(root, 'call', tool, args);
  const [error] = document.errors;
  assert.equal(error.reason, 'approval.pending', error.message);
  const { approval_id: id } = error.details;
  assert.equal((await cli(root, 'approvals', 'grant', id)).status, 0);
  return id;
}

async function granted(root: string): Promise<readonly string[]> {
  const { document } = await cliJson(root, 'approvals', 'list', '--status', 'granted');
  return document.approvals.map(({ id }: { id: string }) => id);
}

describe('a command that would write what is asked about', () => {
  const POLICY =
    "version: 1\nshell_allow: ['^(echo|cat)']\npaths:\n  rules:\n    - { path: '**/.npmrc', write: ask }\n    - { path: '**/.env', read: deny, write: deny }\n";

  it('writes it once it was granted, whether it was there before or not, and nothing else', async () => {
    const { root, path, remove } = makeWorkspace({ 'haft.yaml': POLICY, 'sub/.env': 'KEY=hidden\n' });
    try {
      const made = JSON.stringify({ cmd: 'echo one > .npmrc; echo said' });
      await grant(root, 'shell_exec', made);
      const first = await cliJson(root, 'call', 'shell_exec', made);
      assert.deepEqual(
        [first.status, first.document.data?.stdout],
        [0, 'said\n'],
        JSON.stringify(first.document),
      );
      assert.equal(readFileSync(path('.npmrc'), 'utf8'), 'one\n');
      const changed = JSON.stringify({ cmd: 'echo two > ../.npmrc; cat .env; echo', cwd: 'sub' });
      await grant(root, 'shell_exec', changed);
      const second = await cliJson(root, 'call', 'shell_exec', changed);
      assert.equal(second.status, 0);
      assert.ok(!JSON.stringify(second.document).includes('hidden'));
      assert.equal(readFileSync(path('.npmrc'), 'utf8'), 'two\n');
      assert.equal(existsSync(path('.haft/quarantine')), false);
    } finally {
      remove();
    }
  });
});

describe('approvals', () => {
  const ASKING = 'version: 1\npaths:\n  rules:\n    - { path: "locked/**", write: ask }\n';
  const using = async (work: (workspace: Workspace) => Promise<void>) => {
    const workspace = makeWorkspace({ 'haft.yaml': ASKING });
    try {
      await work(workspace);
    } finally {
      workspace.remove();
    }
  };
  const args = (content: string) => JSON.stringify({ path: 'locked/f.txt', content });

  it('let exactly the granted call through, exactly once, from the command line', () =>
    using(async ({ root, path }) => {
      const first = await haft(['call', 'file_write', args('one'), '--json'], { cwd: root });
      assert.equal(first.status, 75);
      const { reason, details } = JSON.parse(first.stdout).errors[0];
      assert.equal(reason, 'approval.pending');
      assert.match(details.approval_id, /^appr_/);
      assert.equal(existsSync(path('locked')), false);

      const again = await cliJson(root, 'call', 'file_write', args('one'));
      assert.equal(again.document.errors[0].details.approval_id, details.approval_id, 'asked once');
      const listed = await cliJson(root, 'approvals', 'list');
      assert.deepEqual(
        listed.document.approvals.map((one: { id: string }) => one.id),
        [details.approval_id],
      );
      assert.match(
        (await cli(root, 'approvals', 'list')).stdout,
        /pending.*file_write.*write locked\/f\.txt/,
      );

      const granted = await cli(root, 'approvals', 'grant', details.approval_id, '--always');
      assert.equal(granted.status, 0, granted.stderr);
      assert.match(granted.stdout, /locked\/\*\*/);
      const twice = await cli(root, 'approvals', 'grant', details.approval_id);
      assert.equal(twice.status, ERRORS['approval.unknown'].exit);

      assert.equal((await cli(root, 'call', 'file_write', args('two'))).status, 75, 'another call waits');
      assert.equal((await cli(root, 'call', 'file_write', args('one'))).status, 0);
      assert.equal(readFileSync(path('locked/f.txt'), 'utf8'), 'one');
      assert.equal((await cli(root, 'call', 'file_write', args('one'))).status, 75, 'used up');
    }));

  it('are still there where the call was refused before it did anything: a program is kept from the file', () =>
    using(async ({ root, path }) => {
      mkdirSync(path('locked'));
      writeFileSync(path('locked/f.txt'), 'old');
      const id = await grant(root, 'file_write', args('one'));
      const record = path('.haft/placeholders/f-0123456789abcdef');
      mkdirSync(path('.haft/placeholders'), { recursive: true });
      const entries = [{ path: path('locked/f.txt') }];
      writeFileSync(record, JSON.stringify({ process: processIdentity(), entries }));
      for (let i = 0; i < 2; i++) {
        const refused = await cliJson(root, 'call', 'file_write', args('one'));
        assert.equal(refused.document.errors[0].reason, 'lock.busy');
      }
      assert.deepEqual(await granted(root), [id]);
      rmSync(record);
      assert.equal((await cli(root, 'call', 'file_write', args('one'))).status, 0);
      assert.equal(readFileSync(path('locked/f.txt'), 'utf8'), 'one');
      assert.equal((await cli(root, 'call', 'file_write', args('two'))).status, 75, 'used up');
    }));

  it('are still there where the call gave up waiting for another one, or the file was not as it must be', () =>
    using(async ({ root, path }) => {
      await grant(root, 'file_write', args('one'));
      const store = await openSqliteStore({ folder: path('.haft'), process: processIdentity(), clock: Date });
      const runtime = await createDefaultRuntime({ workspace: root });
      const call = (signal?: AbortSignal) =>
        runtime.call({ tool: 'file_write', args: JSON.parse(args('one')) }, signal ? { signal } : {});
      try {
        const release = await store.locks.acquire(
          [{ path: 'locked/f.txt', tree: false }],
          new AbortController().signal,
        );
        const leave = new AbortController();
        const waiting = call(leave.signal);
        await eventually(
          async () => (await runtime.approvals.list('consumed')).length === 1,
          'the call waits for the file',
        );
        leave.abort();
        assert.equal((await waiting).ok, false);
        await release();
        assert.equal((await runtime.approvals.list('granted')).length, 1);
        assert.equal((await call()).ok, true);
        assert.equal((await runtime.approvals.list('granted')).length, 0);
      } finally {
        await runtime.close();
        await store.close();
      }
      const missing = JSON.stringify({ path: 'locked/none.txt' });
      const id = await grant(root, 'fs_delete', missing);
      const failed = await cliJson(root, 'call', 'fs_delete', missing);
      assert.equal(failed.document.errors[0].reason, 'path.not_found');
      assert.deepEqual(await granted(root), [id]);
      writeFileSync(path('locked/none.txt'), '');
      assert.equal(
        (await cli(root, 'call', 'fs_delete', missing)).status,
        75,
        'what would change is another',
      );
    }));

  it('are used up by a program that failed: what it did is not known', () => {
    const workspace = makeWorkspace({
      'haft.yaml':
        "version: 1\nshell_allow: ['^sleep']\ntools:\n  rules:\n    - { tool: shell_exec, decision: ask }\n",
    });
    const { root } = workspace;
    const failing = JSON.stringify({ cmd: 'sleep 600', timeout_ms: 200 });
    return grant(root, 'shell_exec', failing)
      .then(() => cliJson(root, 'call', 'shell_exec', failing))
      .then(() => cliJson(root, 'call', 'shell_exec', failing))
      .then(({ document }) => assert.equal(document.errors[0].reason, 'approval.pending'))
      .finally(() => workspace.remove());
  });

  it('cannot be answered with the token for calls: haft serve does not start with one for both', () =>
    using(async ({ root }) => {
      const token = 'the-same-for-both';
      const env = { HAFT_TOKEN: token, HAFT_APPROVAL_TOKEN: `${token}\n` };
      const { status, stdout, stderr } = await haft(['serve', '--port', '0'], { cwd: root, env });
      assert.equal(status, ERRORS.usage.exit, stdout);
      assert.match(stderr, /HAFT_TOKEN and HAFT_APPROVAL_TOKEN are the same/);
      assert.ok(!`${stdout}${stderr}`.includes(token));
    }));

  it('refuse what a person refused', () =>
    using(async ({ root, path }) => {
      const { document } = await cliJson(root, 'call', 'file_write', args('one'));
      const id = document.errors[0].details.approval_id;
      assert.equal((await cli(root, 'approvals', 'refuse', id)).status, 0);
      const refused = await cliJson(root, 'call', 'file_write', args('one'));
      assert.equal(refused.status, ERRORS['approval.refused'].exit);
      assert.equal(refused.document.errors[0].reason, 'approval.refused');
      assert.equal(existsSync(path('locked')), false);
      const all = await cliJson(root, 'approvals', 'list', '--status', 'all');
      assert.deepEqual(
        all.document.approvals.map((one: { status: string }) => one.status),
        ['refused'],
      );
      assert.equal((await cli(root, 'approvals', 'list', '--status', 'maybe')).status, 2);
      assert.equal((await cli(root, 'approvals', 'grant', 'appr_nobody')).status, 2);
    }));

  const settings = { 'haft.yaml': `${ASKING}approvals: { expire_ms: 60000 }\n` };

  it('expire, asked or granted', () => {
    const clock = makeClock();
    return staged(
      settings,
      async ({ runtime, write }) => {
        assert.equal(await write('locked/f', 'x'), 'approval.pending');
        const [asked] = await runtime.approvals.list('pending');
        clock.advance(60_000);
        await assert.rejects(runtime.approvals.decide(asked!.id, 'granted', 'test'), {
          reason: 'approval.unknown',
        });
        assert.equal(await write('locked/f', 'x'), 'approval.pending');
        const [next] = await runtime.approvals.list('pending');
        assert.notEqual(next!.id, asked!.id);
        await runtime.approvals.decide(next!.id, 'granted', 'test');
        clock.advance(60_000);
        assert.equal(await write('locked/f', 'x'), 'approval.pending');
        assert.deepEqual((await runtime.approvals.list()).map(({ status }) => status).sort(), [
          'expired',
          'expired',
          'pending',
        ]);
      },
      { clock },
    );
  });

  it('are not promised for what only a link leads to: the path itself must be named', () =>
    staged({ ...settings, 'locked/f': 'x' }, async ({ workspace, runtime, write }) => {
      symlinkSync('locked/f', workspace.path('link'));
      assert.equal(await write('link', 'y'), 'policy.denied');
      assert.deepEqual(await runtime.approvals.list(), []);
      assert.equal(await write('locked/f', 'y'), 'approval.pending');
      assert.equal(readFileSync(workspace.path('locked/f'), 'utf8'), 'x');
    }));

  it('are used by one of many that come at once, over processes', () =>
    staged(settings, async ({ runtime, second, write }) => {
      assert.equal(await write('locked/f', 'x'), 'approval.pending');
      const [asked] = await runtime.approvals.list('pending');
      await runtime.approvals.decide(asked!.id, 'granted', 'test');
      const other = await second();
      const call = { tool: 'file_write', args: { path: 'locked/f', content: 'x' } };
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, i) => (i % 2 ? runtime : other).call(call)),
      );
      assert.equal(all.filter(({ ok }) => ok).length, 1);
    }));

  it('do not outlive the policy that asked', () =>
    staged(settings, async ({ workspace, runtime, write }) => {
      assert.equal(await write('locked/f', 'x'), 'approval.pending');
      const [asked] = await runtime.approvals.list('pending');
      await runtime.approvals.decide(asked!.id, 'granted', 'test');
      workspace.put('haft.yaml', settings['haft.yaml'].replace('write: ask', 'read: ask, write: ask'));
      assert.deepEqual(await runtime.reloadPolicy(), []);
      assert.equal(await write('locked/f', 'x'), 'approval.pending');
    }));
});
