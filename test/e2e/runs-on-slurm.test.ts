// Owns: runs of a toolpack on a real Slurm cluster as `haft call` makes them: submitted once, replayed without it, refused by policy.
// Refuses: what a job is like inside; the backend's own tests look at that.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { IMAGE_ROOTS } from '../../scripts/engines/image-roots.ts';
import type { SlurmCluster } from '../../scripts/engines/slurm.ts';
import { withSlurm } from '../../scripts/engines/with-slurm.ts';
import type { RunsPolicy } from '../../src/contract/policy.ts';
import { createDefaultRuntime } from '../../src/preset/default.ts';
import { attemptsOf, observedOf, outputsOf, until, withActing } from './support/acting-workspace.ts';
import { cliJson } from './support/cli.ts';
import { startHaft } from './support/haft.ts';

const slurm = withSlurm();
const PARTITION = 'spot';
const DIGEST = `sha256:${'12'.repeat(32)}`;

describe('a run on slurm', { skip: slurm.skip }, () => {
  let cluster: SlurmCluster;
  let images: string;
  before(async () => {
    if (slurm.skip !== false) return;
    images = mkdtempSync(join(tmpdir(), 'haft-roots-'));
    IMAGE_ROOTS.coreutils(join(images, 'coreutils'));
    writeFileSync(join(images, 'coreutils.env'), 'PATH=/bin\n');
    cluster = await slurm.engine();
  });
  after(() => images && rmSync(images, { recursive: true }));

  const policyOf = (more: Partial<RunsPolicy['slurm']> = {}): RunsPolicy => ({
    backend: 'slurm',
    images: [{ name: 'haft/coreutils:1', image: `registry.example.org/coreutils@${DIGEST}` }],
    slurm: {
      conf: cluster.env.SLURM_CONF,
      images: [{ image: DIGEST, folder: join(images, 'coreutils') }],
      ...more,
    },
  });
  const jobs = (): string => cluster.command('squeue', '--noheader', '--format=%j').trim();

  it('succeeds, and is answered again without the cluster', () =>
    withActing(policyOf(), async (workspace) => {
      const first = await workspace.act('sort');
      assert.ok(first.ok, JSON.stringify(first.error));
      assert.deepEqual(await attemptsOf(workspace, first), [['slurm', 'succeeded', null]]);
      const { seccomp } = (await observedOf(workspace, first)) ?? {};
      assert.equal(seccomp, 2, "the sandbox's filter of system calls");
      workspace.setPolicy(policyOf({ conf: '/nowhere/slurm.conf' }));
      const second = await workspace.act('sort');
      assert.equal(second.replayed, true, JSON.stringify(second.error));
      assert.equal(second.run_id, first.run_id);
      assert.deepEqual(outputsOf(second), outputsOf(first));
    }));

  it('works in the folder that policy names, for nodes that do not see the workspace', async () => {
    const shared = mkdtempSync(join(tmpdir(), 'haft-shared-'));
    try {
      await withActing({ ...policyOf(), folder: shared }, async (workspace) => {
        const answer = await workspace.act('sort');
        assert.ok(answer.ok, JSON.stringify(answer.error));
        assert.equal(readdirSync(shared).length, 1);
        assert.deepEqual(readdirSync(join(workspace.root, '.haft/runs')), ['scope.json']);
      });
    } finally {
      rmSync(shared, { recursive: true });
    }
  });

  it('is refused where policy names no image for it, and where no node has it', () =>
    withActing({ ...policyOf(), images: [] }, async (workspace) => {
      const unnamed = await workspace.act('sort');
      assert.equal(unnamed.error?.reason, 'image.unpinned', 'nobody says what the name stands for');
      workspace.setPolicy(policyOf({ images: [] }));
      const nowhere = await workspace.act('sort');
      assert.equal(nowhere.error?.reason, 'policy.denied');
      assert.match(nowhere.error?.message ?? '', /runs\.slurm\.images/);
    }));

  it('fails clearly where the cluster is not there, and succeeds once it is: the same run', () =>
    withActing(policyOf({ conf: '/nowhere/slurm.conf' }), async (workspace) => {
      const failed = await workspace.act('sort');
      assert.equal(failed.error?.reason, 'run.infrastructure', JSON.stringify(failed));
      assert.match(failed.error?.message ?? '', /runs\.slurm\.conf.*haft doctor/);
      assert.doesNotMatch(failed.error?.message ?? '', /nowhere/);
      workspace.setPolicy(policyOf());
      const next = await workspace.act('sort');
      assert.ok(next.ok, JSON.stringify(next.error));
      assert.equal(next.run_id, failed.run_id);
      const { document } = await cliJson(workspace.root, 'doctor');
      const finding = document.findings.find(({ name }: { name: string }) => name === 'runs: slurm');
      assert.equal(finding.state, 'ok', JSON.stringify(finding));
    }));

  for (const { act, reason, cause } of [
    { act: 'fail', reason: 'run.failed', cause: 'tool.exit' },
    { act: 'time', reason: 'time.deadline', cause: 'limit.time' },
    { act: 'memory', reason: 'run.limit', cause: 'limit.memory' },
  ])
    it(`that ends by ${cause} is told so, leaves no result, and is tried again by the next call`, () =>
      withActing(policyOf(), async (workspace) => {
        const first = await workspace.act(act);
        assert.equal(first.error?.reason, reason, JSON.stringify(first));
        assert.equal(first.error?.details?.cause, cause);
        const again = await workspace.act(act);
        assert.equal(again.error?.reason, reason);
        assert.equal((await attemptsOf(workspace, first)).length, 2);
      }));

  it('that is cancelled ends with its job, and the next call succeeds', () =>
    withActing(policyOf(), async (workspace) => {
      await until(() => jobs() === '');
      const args = JSON.stringify({ text: workspace.text, act: 'slow' });
      const child = startHaft(['call', 'lines_act', args, '--json'], { cwd: workspace.root });
      const left = new Promise<number | null>((resolve) => child.once('close', resolve));
      await until(() => jobs() !== '');
      child.kill('SIGINT');
      assert.notEqual(await left, 0);
      await until(() => jobs() === '');
      const next = await workspace.act('slow');
      assert.ok(next.ok, JSON.stringify(next.error));
      assert.deepEqual(
        (await attemptsOf(workspace, next)).map(([, state]) => state),
        ['cancelled', 'succeeded'],
      );
    }));

  it('has no more jobs in the queue than policy lets it have', () =>
    withActing(policyOf({ max_jobs: 1 }), async (workspace) => {
      await until(() => jobs() === '');
      const runtime = await createDefaultRuntime({ workspace: workspace.root });
      try {
        const texts = [await workspace.import('a\n'), await workspace.import('b\n')];
        let over = false;
        const calls = Promise.all(
          texts.map((text) => runtime.call({ tool: 'lines_act', args: { text, act: 'slow' } })),
        ).finally(() => {
          over = true;
        });
        let most = 0;
        await until(() => {
          const live = cluster.command('squeue', '--noheader', '--states=PD,R', '--format=%j').trim();
          most = Math.max(most, live === '' ? 0 : live.split('\n').length);
          return over;
        });
        for (const { ok, errors } of await calls) assert.ok(ok, JSON.stringify(errors));
        assert.equal(most, 1);
      } finally {
        await runtime.close();
      }
    }));

  it('goes to the partition that the caller chooses among those of policy', () =>
    withActing(policyOf({ partitions: ['nowhere', PARTITION] }), async (workspace) => {
      const chosen = await workspace.act('sort', '--place', `partition=${PARTITION}`);
      assert.ok(chosen.ok, JSON.stringify(chosen.error));
      const other = await workspace.act('sort', '--place', 'partition=other');
      assert.equal(other.error?.reason, 'policy.denied');
      assert.match(String(other.error?.details?.admit), /partitions:\n( +- \w+\n)+ +- other\n$/);
    }));

  it('goes to the partition that policy names, and fails where the cluster has none of that name', () =>
    withActing(policyOf({ partitions: ['nowhere'] }), async (workspace) => {
      const { error } = await workspace.act('sort');
      assert.equal(error?.reason, 'run.infrastructure');
      assert.match(error?.message ?? '', /invalid partition/i);
    }));
});
