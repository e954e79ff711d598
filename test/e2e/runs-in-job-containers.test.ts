// Owns: that a run is one and the same wherever policy lets it go: docker, and jobs contained by bubblewrap, Docker or Podman.
// Refuses: what a container is like inside; the backends' own tests look at that.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { rootOf } from '../../scripts/engines/docker-images.ts';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import { withPodman } from '../../scripts/engines/with-podman.ts';
import { withSlurm } from '../../scripts/engines/with-slurm.ts';
import type { RunsPolicy } from '../../src/contract/policy.ts';
import { attemptsOf, observedOf, outputsOf, withActing } from './support/acting-workspace.ts';

const [docker, podman, slurm] = [withDocker(), withPodman(), withSlurm()];

describe('a run', { skip: docker.skip || podman.skip || slurm.skip }, () => {
  it('has one id and one set of digests on docker and in every kind of container of a job', async () => {
    const [onDocker, onPodman, cluster] = await Promise.all([
      docker.engine(),
      podman.engine(),
      slurm.engine(),
    ]);
    const image = onDocker.docker('image', 'inspect', 'haft/coreutils:1', '--format', '{{.Id}}').trim();
    const conf = cluster.env.SLURM_CONF;
    const folder = rootOf(onDocker.folder, 'coreutils');
    const places: readonly RunsPolicy[] = [
      { backend: 'docker', docker: { socket: onDocker.socket } },
      { backend: 'slurm', slurm: { conf, images: [{ image, folder }] } },
      { backend: 'slurm', slurm: { conf, container: { kind: 'docker', socket: onDocker.socket } } },
      { backend: 'slurm', slurm: { conf, container: { kind: 'podman', command: onPodman.command } } },
      { backend: 'slurm', slurm: { conf, container: { kind: 'podman', socket: onPodman.socket } } },
    ];
    const runs: { readonly id: string | undefined; readonly outputs: object }[] = [];
    for (const place of places)
      await withActing({ ...place, images: [{ name: 'haft/coreutils:1', image }] }, async (workspace) => {
        const answer = await workspace.act('sort');
        assert.ok(answer.ok, `${JSON.stringify(place)}: ${JSON.stringify(answer.error)}`);
        assert.deepEqual(await attemptsOf(workspace, answer), [[place.backend, 'succeeded', null]]);
        const { interfaces, seccomp } = (await observedOf(workspace, answer)) ?? {};
        assert.deepEqual([interfaces, seccomp], [['lo'], 2]);
        runs.push({ id: answer.run_id, outputs: outputsOf(answer) });
      });
    for (const run of runs) assert.deepEqual(run, runs[0]);
  });

  it('is told as a fault of the machine where the node lacks its image, or its engine', async () => {
    const [onPodman, cluster] = await Promise.all([podman.engine(), slurm.engine()]);
    const nowhere = `sha256:${'0'.repeat(64)}`;
    const slurmPolicy = {
      conf: cluster.env.SLURM_CONF,
      container: { kind: 'podman', command: onPodman.command },
    } as const;
    const images = [{ name: 'haft/coreutils:1', image: nowhere }];
    await withActing({ backend: 'slurm', slurm: slurmPolicy, images }, async (workspace) => {
      const lacking = await workspace.act('sort');
      assert.equal(lacking.error?.reason, 'run.infrastructure', JSON.stringify(lacking.error));
      assert.match(lacking.error?.message ?? '', /no container can be made on the node/);
      workspace.setPolicy({
        backend: 'slurm',
        images,
        slurm: { ...slurmPolicy, container: { kind: 'podman', command: join(workspace.root, 'nothing') } },
      });
      assert.equal((await workspace.act('sort')).error?.reason, 'run.infrastructure');
    });
  });
});
