// Owns: what a host that begins does about runs that dead processes left on a real engine: gone on with, told, and nothing left over.
// Refuses: every instant at which a process can die; run-crashes and the under-fire tests look at those.
import assert from 'node:assert/strict';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { DockerEngine } from '../../scripts/engines/docker.ts';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import type { RunsPolicy } from '../../src/contract/policy.ts';
import { attemptsOf, until, withActing } from './support/acting-workspace.ts';
import { cliJson } from './support/cli.ts';
import { startHaft } from './support/haft.ts';

const docker = withDocker();

const policyOf = ({ socket, images }: DockerEngine): RunsPolicy => ({
  backend: 'docker',
  docker: { socket },
  images: [{ name: 'haft/coreutils:1', image: images.coreutils }],
});

const containersOf = (engine: DockerEngine): string =>
  engine.docker('ps', '--all', '--quiet', '--filter', 'label=haft.scope');

/** A host, with what it says on standard error, for as long as it is used. */
async function withHost(
  args: readonly string[],
  root: string,
  use: (said: () => string) => Promise<void>,
): Promise<void> {
  const host: ChildProcessWithoutNullStreams = startHaft(args, { cwd: root });
  let text = '';
  host.stderr.on('data', (chunk) => (text += chunk));
  host.stdout.resume();
  try {
    await use(() => text);
  } finally {
    host.kill('SIGTERM');
    await once(host, 'close');
  }
}

describe('a host that begins', { skip: docker.skip }, () => {
  it('follows a run whose process was killed to its end, and says so', async () => {
    const engine = await docker.engine();
    await withActing(policyOf(engine), async (workspace) => {
      const args = JSON.stringify({ text: workspace.text, act: 'slow' });
      const child = startHaft(['call', 'lines_act', args], { cwd: workspace.root });
      await until(() => containersOf(engine) !== '');
      const container = containersOf(engine);
      child.kill('SIGKILL');
      await once(child, 'close');
      await withHost(['serve', '--port', '0'], workspace.root, async (said) => {
        await until(() => /was in flight when its process died; it still runs, and is followed/.test(said()));
        assert.equal(containersOf(engine), container);
        // Neither that the container is gone nor that the outputs are kept comes first.
        const list = () => cliJson(workspace.root, 'runs', 'list');
        await until(async () => (await list()).document.runs[0]?.state === 'succeeded');
        await until(() => containersOf(engine) === '');
      });
      const answer = await workspace.act('slow');
      assert.equal(answer.replayed, true, JSON.stringify(answer.error));
      assert.deepEqual(await attemptsOf(workspace, answer), [['docker', 'succeeded', null]]);
    });
  });

  it('leaves a run alone whose engine is not there, and the next call goes on with it', async () => {
    const engine = await docker.engine();
    await withActing(policyOf(engine), async (workspace) => {
      const args = JSON.stringify({ text: workspace.text, act: 'slow' });
      const child = startHaft(['call', 'lines_act', args], { cwd: workspace.root });
      await until(() => containersOf(engine) !== '');
      child.kill('SIGKILL');
      await once(child, 'close');
      workspace.setPolicy({ ...policyOf(engine), docker: { socket: '/nowhere/docker.sock' } });
      await withHost(['serve', '--port', '0'], workspace.root, async (said) => {
        await until(() => /it may still run; whoever calls the run next goes on with it/.test(said()));
      });
      workspace.setPolicy(policyOf(engine));
      const answer = await workspace.act('slow');
      assert.ok(answer.ok, JSON.stringify(answer.error));
      assert.deepEqual(await attemptsOf(workspace, answer), [['docker', 'succeeded', null]]);
    });
  });

  it('is not needed to list what became of a run: haft runs list', async () => {
    const engine = await docker.engine();
    await withActing({ ...policyOf(engine), backend: 'local' }, async (workspace) => {
      const args = JSON.stringify({ text: workspace.text, act: 'slow' });
      const child = startHaft(['call', 'lines_act', args], { cwd: workspace.root });
      const list = () => cliJson(workspace.root, 'runs', 'list');
      await until(async () => (await list()).document.runs[0]?.state === 'running');
      child.kill('SIGKILL');
      await once(child, 'close');
      const { document, stderr } = await list();
      assert.equal(document.runs[0].state, 'failed', JSON.stringify(document));
      assert.match(stderr, /was in flight when its process died; it was lost/);
    });
  });

  for (const args of [['serve', '--port', '0'], ['mcp']])
    it(`removes what an engine holds of attempts that are over: haft ${args[0]}`, async () => {
      const engine = await docker.engine();
      await withActing(policyOf(engine), async (workspace) => {
        assert.ok((await workspace.act('sort')).ok);
        const scope = JSON.parse(readFileSync(join(workspace.root, '.haft/runs/scope.json'), 'utf8'));
        const labels = ['--label', `haft.scope=${scope}`, '--label', 'haft.attempt=att_gone'];
        engine.docker('run', '--detach', '--network=none', ...labels, engine.images.busybox, 'sleep', '600');
        await withHost(args, workspace.root, async (said) => {
          await until(() =>
            /att_gone.* was over, and what an engine still held of it was removed/.test(said()),
          );
        });
        assert.equal(containersOf(engine), '');
      });
    });
});
