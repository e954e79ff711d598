// Owns: what `policy explain` says of calls that names and rules alone do not decide, case by case, and that it does nothing.
// Refuses: every combination; policy-explain.test.ts has those.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../src/contract/json.ts';
import type { PolicyFile } from '../../src/contract/policy.ts';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { IMAGE } from './support/explained-calls.ts';
import { inExplained, withSections } from './support/explained-workspace.ts';

const POLICY: Partial<PolicyFile> = {
  shell_allow: ['.*'],
  paths: {
    rules: [
      { path: 'secrets', read: 'deny', write: 'deny' },
      { path: 'docs', write: 'deny' },
    ],
  },
  runs: { backends: ['local', 'slurm'], images: [IMAGE], slurm: { container: { kind: 'docker' } } },
};
const ASKS = { rules: [{ tool: 'word_count', decision: 'ask' as const }] };
const SUBMIT = { tool: 'word_count', args: { text: 'one two' } };

/** What policy says more, the call, and how it ends: the verdict and its rule. */
const CASES: readonly (readonly [Partial<PolicyFile>, string, JsonObject, string])[] = [
  [{}, 'file_read', { path: 'to_a' }, 'allow'],
  [{}, 'file_read', { path: 'out/there.txt' }, 'deny path.outside_workspace'],
  [{}, 'file_read', { path: 'out/none' }, 'deny path.outside_workspace'],
  // Whether something is there behind a link nobody learns who may not read it.
  [{}, 'file_read', { path: 'to_key' }, 'deny paths.rules[0]'],
  [{}, 'file_read', { path: 'to_nothing' }, 'deny paths.rules[0]'],
  [{}, 'fs_list', { glob: 'to_state/*' }, 'deny protected:.haft'],
  [{}, 'grep', { pattern: 'x', glob: 'to_nothing/**' }, 'deny paths.rules[0]'],
  [{}, 'fs_list', { glob: 'to_nothing/**' }, 'deny paths.rules[0]'],
  [{}, 'file_write', { path: 'to_docs/c.md', content: '' }, 'deny paths.rules[1]'],
  [{}, 'file_patch', { path: 'to_docs/c.md', unified_diff: '@@ -1 +1 @@\n-x\n+y\n' }, 'deny paths.rules[1]'],
  [{}, 'fs_delete', { path: 'to_key' }, 'allow'],
  [{}, 'artifact_import', { path: 'out' }, 'deny path.outside_workspace'],
  [{}, 'shell_exec', { cmd: 'true', env: { LD_PRELOAD: 'x' } }, 'deny shell.dynamic'],
  [{}, 'shell_exec', { cmd: 'true', env: { A: 'x' } }, 'allow'],
  [{}, 'shell_exec', { cmd: 'true', cwd: '.haft' }, 'deny protected:.haft'],
  [{}, 'shell_exec', { cmd: 'true', cwd: 'to_state' }, 'deny protected:.haft'],
  [{}, 'shell_exec', { cmd: 'true', cwd: 'secrets' }, 'deny paths.rules[0]'],
  [{}, 'shell_exec', { cmd: 'true', cwd: 'out' }, 'deny path.outside_workspace'],
  [{}, 'slurm_submit', SUBMIT, 'allow'],
  [{ tools: ASKS }, 'slurm_submit', SUBMIT, 'ask tools.rules[0]'],
  [
    { tools: { rules: [{ tool: 'word_count', decision: 'deny' }] } },
    'slurm_submit',
    SUBMIT,
    'deny tools.rules[0]',
  ],
  [{ budgets: { calls: 0 } }, 'file_read', { path: 'a.txt' }, 'deny budget.exhausted'],
];

describe('policy explain', () => {
  it('says what becomes of a call by links, variables, folders, the call within and the budget', async () => {
    await inExplained(async (runtime, lay) => {
      const { loaded } = runtime.policy.current;
      for (const [more, tool, args, expected] of CASES) {
        lay();
        await runtime.policy.replace(withSections(loaded, { ...POLICY, ...more }));
        const { decision } = await runtime.policy.explain({ tool, args });
        const said = decision.verdict === 'allow' ? 'allow' : `${decision.verdict} ${decision.rule}`;
        assert.equal(said, expected, `${tool} ${JSON.stringify(args)}`);
        const { errors } = await runtime.call({ tool, args });
        const [error] = errors;
        const isRefused = error?.code === 'E_POLICY';
        assert.deepEqual(
          [isRefused, isRefused && error.reason],
          [decision.verdict !== 'allow', decision.reason ?? false],
        );
      }
    });
  });

  it('counts the call within after the one that makes it', async () => {
    await inExplained(async (runtime) => {
      await runtime.policy.replace(withSections(runtime.policy.current.loaded, POLICY));
      const explained = async (calls: number) => {
        const { id } = await runtime.sessions.open({ budget: { calls } });
        return (await runtime.policy.explain({ tool: 'slurm_submit', args: SUBMIT, sessionId: id })).decision;
      };
      const { verdict, reason } = await explained(1);
      assert.deepEqual([verdict, reason], ['deny', 'budget.exhausted']);
      assert.equal((await explained(2)).verdict, 'allow');
    });
  });

  it('tells of an approval that is open, granted or refused, and uses none up', async () => {
    await inExplained(async (runtime, lay) => {
      lay();
      const asks = { tools: { rules: [{ tool: 'fs_delete', decision: 'ask' as const }] } };
      await runtime.policy.replace(withSections(runtime.policy.current.loaded, asks));
      const request = { tool: 'fs_delete', args: { path: 'a.txt' } };
      const explained = () => runtime.policy.explain(request);
      assert.deepEqual(
        [(await explained()).decision.verdict, (await explained()).approval],
        ['ask', undefined],
      );
      const ask = async () => String((await runtime.call(request)).errors[0]?.details?.approval_id);
      const first = await ask();
      assert.deepEqual((await explained()).approval, { id: first, status: 'pending' });
      await runtime.approvals.decide(first, 'granted', 'a person');
      for (const _ of [1, 2]) {
        const { decision, approval } = await explained();
        assert.deepEqual([decision.verdict, approval], ['ask', { id: first, status: 'granted' }]);
      }
      assert.equal((await runtime.call(request)).ok, true);
      lay();
      await runtime.approvals.decide(await ask(), 'refused', 'a person');
      assert.deepEqual(pick(await explained()), ['deny', 'approval.refused']);
      assert.equal((await runtime.call(request)).errors[0]?.reason, 'approval.refused');
    });
  });

  it('says what it did not look at', async () => {
    await inExplained(async (runtime, lay) => {
      lay();
      await runtime.policy.replace(withSections(runtime.policy.current.loaded, POLICY));
      const unseen = async (tool: string, args: JsonObject) =>
        (await runtime.policy.explain({ tool, args })).unseen;
      assert.equal(await unseen('file_read', { path: 'a.txt' }), undefined);
      assert.match(String(await unseen('shell_exec', { cmd: 'true' })), /what the programs do/);
      assert.match(String(await unseen('artifact_import', { path: 'docs' })), /below "docs"/);
      assert.match(String(await unseen('word_count', { text: 'a' })), /what its run does/);
    });
  });

  it('changes nothing, asks nobody and leaves no row', async () => {
    await inExplained(async (runtime, lay) => {
      lay();
      const { loaded } = runtime.policy.current;
      const asks = { rules: [{ tool: 'fs_delete', decision: 'ask' as const }] };
      await runtime.policy.replace(withSections(loaded, { tools: asks, shell_allow: ['.*'] }));
      const session = await runtime.sessions.open({ budget: { calls: 1 } });
      for (const [tool, args] of Object.entries({
        file_write: { path: 'a.txt', content: 'y' },
        file_patch: { path: 'a.txt', unified_diff: '@@ -1 +1 @@\n-x\n+y\n' },
        fs_move: { src: 'a.txt', dst: 'b.txt' },
        fs_delete: { path: 'a.txt' },
        artifact_import: { path: 'a.txt' },
        shell_exec: { cmd: 'rm a.txt' },
      }))
        await runtime.policy.explain({ tool, args, sessionId: session.id });
      assert.deepEqual((await runtime.sessions.get(session.id))?.remaining, { calls: 1 });
      assert.deepEqual(await runtime.approvals.list(), []);
      assert.deepEqual(await (await runtime.artifacts()).list({ limit: 9 }), []);
      assert.deepEqual(await runtime.audit.rows({}), []);
      const { data } = await runtime.call({ tool: 'file_read', args: { path: 'a.txt' } });
      assert.equal((data as { content: string }).content, 'x\n');
    });
  });
});

const pick = ({ decision }: Awaited<ReturnType<DefaultRuntime['policy']['explain']>>) => [
  decision.verdict,
  decision.reason,
];
