// Owns: runs of a toolpack on a real Docker engine as `haft call` makes them: executed once, replayed without it, refused by policy.
// Refuses: what a container is like inside; the backend's own tests look at that.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { DockerEngine } from '../../scripts/engines/docker.ts';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import type { RunsPolicy } from '../../src/contract/policy.ts';
import { applyAdmit } from '../../src/loader/haft-yaml/apply-admit.ts';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { attemptsOf, outputsOf, until, withActing } from './support/acting-workspace.ts';
import { cliJson } from './support/cli.ts';
import { startHaft } from './support/haft.ts';
import { startServer } from './support/server.ts';

const docker = withDocker();

const policyOf = ({ socket, images }: DockerEngine, more: RunsPolicy = {}): RunsPolicy => ({
  backend: 'docker',
  docker: { socket },
  images: [{ name: 'haft/coreutils:1', image: images.coreutils }],
  ...more,
});

const containersOf = (engine: DockerEngine): string =>
  engine.docker('ps', '--all', '--quiet', '--filter', 'label=haft.scope');

describe('a run on docker', { skip: docker.skip }, () => {
  it('succeeds, and is answered again without the engine', async () => {
    const engine = await docker.engine();
    await withActing(policyOf(engine), async (workspace) => {
      const first = await workspace.act('sort');
      assert.ok(first.ok, JSON.stringify(first.error));
      assert.equal(first.replayed, false);
      assert.deepEqual(await attemptsOf(workspace, first), [['docker', 'succeeded', null]]);
      workspace.setPolicy(policyOf(engine, { docker: { socket: `${workspace.root}/nobody.sock` } }));
      const second = await workspace.act('sort');
      assert.ok(second.ok, JSON.stringify(second.error));
      assert.equal(second.replayed, true);
      assert.equal(second.run_id, first.run_id);
      assert.deepEqual(outputsOf(second), outputsOf(first));
      assert.equal(containersOf(engine), '');
    });
  });

  it('is refused on an image that policy does not name, with the line that admits it', async () => {
    const engine = await docker.engine();
    const { images: _none, ...policy } = policyOf(engine);
    await withActing(policy, async (workspace) => {
      engine.docker('tag', engine.images.coreutils, 'haft/coreutils:1');
      const refused = await workspace.act('sort');
      assert.equal(refused.error?.reason, 'policy.denied', JSON.stringify(refused));
      assert.equal(refused.error?.details?.rule, 'runs.images');
      const { document } = await cliJson(workspace.root, 'audit', 'list');
      assert.equal(JSON.stringify(document).includes('"verdict":"deny"'), true, JSON.stringify(document));
      const file = join(workspace.root, 'haft.yaml');
      const admit = String(refused.error?.details?.admit);
      writeTrusted(file, await applyAdmit(readFileSync(file, 'utf8'), admit));
      const admitted = await workspace.act('sort');
      assert.ok(admitted.ok, JSON.stringify(admitted.error));
    });
  });

  it('is refused on a backend that policy does not grant, and on one that there is not', async () => {
    const engine = await docker.engine();
    await withActing(policyOf(engine), async (workspace) => {
      const { error } = await workspace.act('sort', '--backend', 'slurm');
      assert.equal(error?.reason, 'policy.denied');
      assert.match(String(error?.details?.admit), /^runs:\n {2}backends:\n {4}- slurm\n$/);
      assert.equal((await workspace.act('sort', '--backend', 'moon')).error?.reason, 'usage');
    });
  });

  it('goes over HTTP where the query says, among what policy grants', async () => {
    const engine = await docker.engine();
    await withActing(policyOf(engine, { backends: ['local'] }), async (workspace) => {
      const server = await startServer(workspace.root);
      try {
        const headers = { 'content-type': 'application/json' };
        const call = JSON.stringify({ tool: 'lines_act', args: { text: workspace.text } });
        const refused = await server.post('/v1/call?backend=slurm', call, headers);
        assert.equal(refused.json.errors[0].reason, 'policy.denied', JSON.stringify(refused));
        const { json } = await server.post('/v1/call?backend=local', call, headers);
        assert.ok(json.ok, JSON.stringify(json));
        assert.deepEqual(await attemptsOf(workspace, json), [['local', 'succeeded', null]]);
      } finally {
        await server.close();
      }
    });
  });

  it('fails clearly where the engine is not there, and succeeds once it is: the same run', async () => {
    const engine = await docker.engine();
    const lost = policyOf(engine, { docker: { socket: '/nowhere/docker.sock' } });
    await withActing(lost, async (workspace) => {
      const failed = await workspace.act('sort');
      assert.equal(failed.error?.reason, 'run.infrastructure');
      assert.match(failed.error?.message ?? '', /runs\.docker\.socket.*haft doctor/);
      assert.doesNotMatch(failed.error?.message ?? '', /nowhere/);
      const doctor = await cliJson(workspace.root, 'doctor');
      const finding = doctor.document.findings.find(({ name }: { name: string }) => name === 'runs: docker');
      assert.equal(finding.state, 'failed');

      workspace.setPolicy(policyOf(engine));
      const next = await workspace.act('sort');
      assert.ok(next.ok, JSON.stringify(next.error));
      assert.equal(next.run_id, failed.run_id);
      assert.equal(next.replayed, false);
    });
  });

  for (const { act, reason, cause } of [
    { act: 'fail', reason: 'run.failed', cause: 'tool.exit' },
    { act: 'time', reason: 'time.deadline', cause: 'limit.time' },
    { act: 'memory', reason: 'run.limit', cause: 'limit.memory' },
  ])
    it(`that ends by ${cause} is told so, leaves no result, and keeps no other call from succeeding`, async () => {
      const engine = await docker.engine();
      await withActing(policyOf(engine), async (workspace) => {
        const first = await workspace.act(act);
        assert.equal(first.error?.reason, reason, JSON.stringify(first));
        assert.equal(first.error?.details?.cause, cause);
        const again = await workspace.act(act);
        assert.equal(again.error?.reason, reason);
        assert.deepEqual(
          (await attemptsOf(workspace, first)).map(([, , failure]) => failure),
          [cause, cause],
        );
        assert.ok((await workspace.act('sort')).ok);
        assert.equal(containersOf(engine), '');
      });
    });

  it('that is cancelled ends with its container, and the next call succeeds', async () => {
    const engine = await docker.engine();
    await withActing(policyOf(engine), async (workspace) => {
      const args = JSON.stringify({ text: workspace.text, act: 'slow' });
      const child = startHaft(['call', 'lines_act', args, '--json'], { cwd: workspace.root });
      const left = new Promise<number | null>((resolve) => child.once('close', resolve));
      await until(() => containersOf(engine) !== '');
      child.kill('SIGINT');
      assert.notEqual(await left, 0);
      assert.equal(containersOf(engine), '');
      const next = await workspace.act('slow');
      assert.ok(next.ok, JSON.stringify(next.error));
      assert.deepEqual(
        (await attemptsOf(workspace, next)).map(([, state]) => state),
        ['cancelled', 'succeeded'],
      );
    });
  });

  it('uses no more than policy says, whatever its plan asks for', async () => {
    const engine = await docker.engine();
    await withActing(policyOf(engine, { limits: { wall_ms: 1_000 } }), async (workspace) => {
      assert.equal((await workspace.act('slow')).error?.details?.cause, 'limit.time');
    });
  });
});
