// Owns: the tools of runs on a real Docker engine: a run in a container is looked at, and is no job of a cluster.
// Refuses: how runs get there; runs-on-docker.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import { withActing } from './support/acting-workspace.ts';
import { cliJson } from './support/cli.ts';

const docker = withDocker();

describe('docker_job_get', { skip: docker.skip }, () => {
  it('tells how a run in a container stands, and slurm_job_get knows nothing of it', async () => {
    const { socket, images } = await docker.engine();
    const policy = {
      backend: 'docker',
      // Nothing is there: that policy grants it is enough for its tools to answer.
      backends: ['slurm'],
      docker: { socket },
      images: [{ name: 'haft/coreutils:1', image: images.coreutils }],
    } as const;
    await withActing(policy, async (workspace) => {
      const made = await workspace.act('sort');
      assert.ok(made.ok, JSON.stringify(made.error));
      const ask = async (tool: string, args: object) =>
        (await cliJson(workspace.root, 'call', tool, JSON.stringify(args))).document;
      const { data } = await ask('docker_job_get', { run_id: made.run_id });
      assert.deepEqual(
        [data.state, data.attempt.backend, data.attempt.exit_code, data.job],
        ['succeeded', 'docker', 0, null],
      );
      for (const tool of ['slurm_job_get', 'slurm_job_collect', 'slurm_job_cancel']) {
        const [error] = (await ask(tool, { run_id: made.run_id })).errors;
        assert.deepEqual(
          [error.reason, /newest attempt is on "docker"/.test(error.message)],
          ['run.unknown', true],
        );
      }
    });
  });
});
