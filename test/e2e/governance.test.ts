// Owns: the proof that sessions only narrow, budgets hold and policy is replaced whole.
// Refuses: to look inside: everything goes through the runtime or the command line.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { sha256Hex } from '../../src/base/digest.ts';
import { createRuntime, ERRORS, type JsonObject } from '../../src/index.ts';
import { makeClock } from './support/clock.ts';
import { haft } from './support/haft.ts';
import { reasonOf, staged, waitTool } from './support/staged.ts';
import { makeWorkspace } from './support/workspace.ts';

describe('a file that may be written and not read', () => {
  it('keeps its hash to itself when another version was expected', () => {
    const rules = ['deny', 'ask'].map((read) => `{ path: ${read}.sec, read: ${read} }`);
    const files = {
      'haft.yaml': `version: 1\npaths: { rules: [${rules}] }\n`,
      'deny.sec': 'k',
      'ask.sec': 'k',
      'open.txt': 'k',
    };
    const hash = sha256Hex('k');
    return staged(files, async ({ runtime }) => {
      for (const path of ['deny.sec', 'ask.sec', 'open.txt'])
        for (const [tool, args] of Object.entries({
          file_write: { path, content: 'x' },
          fs_delete: { path },
          fs_move: { src: path, dst: 'moved' },
          fs_copy: { src: path, dst: 'copied' },
          file_edit: { path, old: 'k', new: 'x' },
          file_patch: { path, unified_diff: `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-k\n+x\n` },
        }))
          for (const dry_run of [false, true]) {
            const answer = await runtime.call({
              tool,
              args: { ...args, dry_run, expected_sha256: sha256Hex('other') },
            });
            assert.equal(answer.ok, false);
            assert.equal(JSON.stringify(answer).includes(hash), path === 'open.txt', `${tool} ${path}`);
          }
    });
  });
});

describe('sessions', () => {
  const REGISTRY = {
    version: 1,
    paths: { rules: [{ path: 'private/**', read: 'deny' }] },
    tools: { rules: [{ tool: 'fs_*', decision: 'deny' }] },
    limits: { max_input_bytes: 200 },
  };

  it('narrow what the host grants, in every process, and leave others alone', () =>
    staged({ 'private/key': 'k' }, async ({ runtime, second, read, write }) => {
      await runtime.sessions.open({ id: 'narrow', registry: REGISTRY, attribution: { agent: 'x' } });
      const other = await second();
      for (const by of [runtime, other]) {
        assert.equal(await read('private/key', 'narrow', by), 'policy.denied');
        assert.equal(await read('a.txt', 'narrow', by), 'ok');
        assert.equal(await read('private/key', undefined, by), 'ok');
      }
      assert.equal(
        reasonOf(await other.call({ tool: 'fs_list', args: {}, sessionId: 'narrow' })),
        'policy.denied',
      );
      assert.equal(await write('b.txt', 'x'.repeat(300), 'narrow'), 'input.too_large');
      const [row] = await runtime.audit.rows({ session: 'narrow', last: 1 });
      assert.deepEqual(row?.attribution, { agent: 'x' });
    }));

  const WIDENING: Readonly<Record<string, JsonObject>> = {
    'tools.rules[0]': { tools: { rules: [{ tool: 'fs_delete', decision: 'allow' }] } },
    'tools.default': { tools: { default: 'allow' } },
    'paths.rules[0].read': { paths: { rules: [{ path: 'private/**', read: 'allow' }] } },
    'paths.rules[0].write': { paths: { rules: [{ path: '**', write: 'allow' }] } },
    'paths.extra_roots[0]': { paths: { extra_roots: ['/tmp'] } },
    'budgets.calls': { budgets: { calls: 1001 } },
    'limits.timeout_ms': { limits: { timeout_ms: 60_001 } },
    'undo.max_bytes': { undo: { max_bytes: 2000 } },
    'network.allowed_domains[0]': { network: { allowed_domains: ['example.org'] } },
    'shell_allow[0]': { shell_allow: ['^ls'] },
    'git.allow_push': { git: { allow_push: true } },
    sandbox: { sandbox: 'optional' },
    packs: { packs: ['./more'] },
  };
  const HOST =
    'version: 1\ntools: { default: ask }\nbudgets: { calls: 1000 }\nlimits: { timeout_ms: 60000 }\nundo: { max_bytes: 1000 }\n';

  for (const [key, registry] of Object.entries(WIDENING)) {
    it(`may not widen ${key}`, () =>
      staged({ 'haft.yaml': HOST }, async ({ runtime }) => {
        const opening = runtime.sessions.open({ id: 'wide', registry: { version: 1, ...registry } });
        await assert.rejects(opening, {
          code: 'E_POLICY',
          reason: 'policy.widens',
          details: { keys: [key] },
        });
        assert.equal(await runtime.sessions.get('wide'), undefined);
      }));
  }

  it('refuse a registry with problems, and name each', () =>
    staged({}, async ({ runtime }) => {
      const registry = { version: 1, tols: {}, budgets: { calls: 'many' } };
      await assert.rejects(runtime.sessions.open({ registry }), (error: Error & { reason: string }) => {
        assert.equal(error.reason, 'policy.invalid');
        assert.match(error.message, /tols[\s\S]*calls/);
        return true;
      });
    }));

  it('that nobody opened are unknown, however often they are asked for', () =>
    staged({}, async ({ runtime, read }) => {
      assert.equal(await read('a.txt', 'nobody'), 'session.unknown');
      assert.equal(await read('a.txt', 'nobody'), 'session.unknown');
      assert.equal(await runtime.sessions.get('nobody'), undefined);
    }));

  it('end when they are ended, in every process', () =>
    staged({}, async ({ runtime, second, read }) => {
      const other = await second();
      await runtime.sessions.open({ id: 'short' });
      assert.equal(await read('a.txt', 'short', other), 'ok');
      await runtime.sessions.end('short');
      assert.equal(await read('a.txt', 'short'), 'session.expired');
      assert.equal(await read('a.txt', 'short', other), 'session.expired');
    }));

  it('end with their time', () => {
    const clock = makeClock();
    return staged(
      {},
      async ({ runtime, read }) => {
        await runtime.sessions.open({ id: 'minute', ttlMs: 60_000 });
        clock.advance(59_999);
        assert.equal(await read('a.txt', 'minute'), 'ok');
        clock.advance(1);
        assert.equal(await read('a.txt', 'minute'), 'session.expired');
      },
      { clock },
    );
  });

  it('keep the terms that they were opened with', () =>
    staged({}, async ({ runtime, second, read }) => {
      await runtime.sessions.open({ id: 'mine', registry: { version: 1, tools: { default: 'deny' } } });
      const other = await second();
      await assert.rejects(other.sessions.open({ id: 'mine', registry: { version: 1 } }), {
        reason: 'usage',
      });
      assert.equal((await other.sessions.open({ id: 'mine' })).id, 'mine');
      assert.equal(await read('a.txt', 'mine', other), 'policy.denied');
    }));
});

describe('budgets', () => {
  it('of calls hold for many at once, and can be asked about', () =>
    staged({}, async ({ runtime, read }) => {
      await runtime.sessions.open({ id: 's', budget: { calls: 10 } });
      const reasons = await Promise.all(Array.from({ length: 30 }, () => read('a.txt', 's')));
      assert.equal(reasons.filter((reason) => reason === 'ok').length, 10);
      assert.equal(reasons.filter((reason) => reason === 'budget.exhausted').length, 20);
      const view = await runtime.sessions.get('s');
      assert.deepEqual(view?.remaining, { calls: 0 });
      assert.ok(view.usage.calls >= 10);
      assert.equal(await read('a.txt'), 'ok');
    }));

  it('of bytes and of time hold, and say which of them is used up', () => {
    const clock = makeClock();
    return staged(
      { 'big.txt': 'x'.repeat(5000) },
      async ({ runtime }) => {
        await runtime.sessions.open({ id: 'bytes', budget: { bytes: 6000 } });
        const call = (sessionId: string) =>
          runtime.call({ tool: 'file_read', args: { path: 'big.txt' }, sessionId });
        assert.deepEqual([await call('bytes'), await call('bytes'), await call('bytes')].map(reasonOf), [
          'ok',
          'ok',
          'budget.exhausted',
        ]);
        assert.equal((await call('bytes')).errors[0]?.details?.budget, 'bytes');
        await runtime.sessions.open({ id: 'time', budget: { wallMs: 1000 } });
        assert.equal(reasonOf(await runtime.call({ tool: 'wait', args: {}, sessionId: 'time' })), 'ok');
        const refused = await call('time');
        assert.equal(reasonOf(refused), 'budget.exhausted');
        assert.equal(refused.errors[0]?.details?.budget, 'wall_ms');
        assert.deepEqual((await runtime.sessions.get('time'))?.remaining, { wallMs: 0 });
      },
      { clock, tools: [waitTool(() => clock.advance(2000))] },
    );
  });

  it('of the policy hold over processes, for each session', async () => {
    const workspace = makeWorkspace({ 'a.txt': 'a\n', 'haft.yaml': 'version: 1\nbudgets: { calls: 2 }\n' });
    const { root } = workspace;
    try {
      const call = (session: string) =>
        haft(['call', 'file_read', '{"path":"a.txt"}', '--session', session, '--json'], { cwd: root });
      assert.equal((await call('one')).status, 0);
      assert.equal((await call('one')).status, 0);
      const third = await call('one');
      assert.equal(third.status, ERRORS['budget.exhausted'].exit);
      assert.equal(JSON.parse(third.stdout).errors[0].reason, 'budget.exhausted');
      const both = await Promise.all([call('two'), call('two')]);
      assert.deepEqual(
        both.map(({ status }) => status),
        [0, 0],
      );
    } finally {
      workspace.remove();
    }
  });

  it('of calls hold for many at once that different processes make', async () => {
    const workspace = makeWorkspace({ 'haft.yaml': 'version: 1\nbudgets: { calls: 5 }\n' });
    // Each has a store of its own, as a process has.
    const runtimes = await Promise.all([1, 2, 3].map(() => createRuntime({ workspace: workspace.root })));
    try {
      for (let round = 0; round < 20; round++) {
        const sessionId = `s${round}`;
        await runtimes[0]!.sessions.open({ id: sessionId });
        const results = await Promise.all(
          Array.from({ length: 12 }, (_, i) =>
            runtimes[i % 3]!.call({
              tool: 'file_write',
              args: { path: `${round}/${i}`, content: 'x' },
              sessionId,
            }),
          ),
        );
        const reasons = results.map(reasonOf).sort();
        assert.deepEqual(reasons, [...Array(7).fill('budget.exhausted'), ...Array(5).fill('ok')]);
        assert.equal(readdirSync(workspace.path(`${round}`)).length, 5);
      }
    } finally {
      for (const runtime of runtimes) await runtime.close();
      workspace.remove();
    }
  });

  it('of a new policy hold at once', () =>
    staged({ 'haft.yaml': 'version: 1\n' }, async ({ workspace, runtime, read }) => {
      await runtime.sessions.open({ id: 's' });
      for (const session of ['s', undefined]) assert.equal(await read('a.txt', session), 'ok');
      workspace.put('haft.yaml', 'version: 1\nbudgets: { calls: 1 }\n');
      assert.deepEqual(await runtime.reloadPolicy(), []);
      for (const session of ['s', undefined]) assert.equal(await read('a.txt', session), 'budget.exhausted');
    }));

  it('that are used up do not use up an approval', () =>
    staged(
      { 'haft.yaml': 'version: 1\npaths: { rules: [{ path: a.txt, write: ask }] }\n' },
      async ({ runtime, write }) => {
        await runtime.sessions.open({ id: 's', budget: { calls: 1 } });
        assert.equal(await write('a.txt', 'x', 's'), 'approval.pending');
        const [approval] = await runtime.approvals.list('pending');
        await runtime.approvals.decide(approval!.id, 'granted', 'test');
        assert.equal(await write('a.txt', 'x', 's'), 'budget.exhausted');
        assert.equal(await write('a.txt', 'x'), 'ok');
      },
    ));
});

describe('a reload of the policy', () => {
  it('takes over a good file whole, and keeps the old one where the new has problems', () =>
    staged({ 'haft.yaml': 'version: 1\n', 'private/key': 'k' }, async ({ workspace, runtime, read }) => {
      const deny = 'version: 1\npaths: { rules: [{ path: "private/**", read: deny }] }\n';
      workspace.put('haft.yaml', deny);
      assert.equal(await read('private/key'), 'ok');
      assert.deepEqual(await runtime.reloadPolicy(), []);
      assert.equal(await read('private/key'), 'policy.denied');

      const hash = runtime.policy.current.hash;
      workspace.put('haft.yaml', 'version: 1\npaths: { rules: [] }\ntols: {}\n');
      const diagnostics = await runtime.reloadPolicy();
      assert.deepEqual(
        diagnostics.map(({ line, code }) => [line, code]),
        [[3, 'key.unknown']],
      );
      assert.equal(runtime.policy.current.hash, hash);
      assert.equal(await read('private/key'), 'policy.denied');

      workspace.put('haft.yaml', 'version: 1\n');
      assert.deepEqual(await runtime.reloadPolicy(), []);
      assert.equal(await read('private/key'), 'ok');
    }));

  it('does not reach calls under way', () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    return staged(
      { 'haft.yaml': 'version: 1\n' },
      async ({ workspace, runtime }) => {
        const running = runtime.call({ tool: 'wait', args: {} });
        workspace.put('haft.yaml', 'version: 1\ntools: { default: deny }\n');
        assert.deepEqual(await runtime.reloadPolicy(), []);
        assert.equal(reasonOf(await runtime.call({ tool: 'wait', args: {} })), 'policy.denied');
        go();
        assert.equal(reasonOf(await running), 'ok');
      },
      { tools: [waitTool(() => gate)] },
    );
  });
});
