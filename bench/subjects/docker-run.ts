// Owns: what an attempt on the docker backend costs, against `docker run --rm` with the same flags and command.
// Refuses: programs that do something: what is left is the way there and back.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DockerEngine, startDocker } from '../../scripts/engines/docker.ts';
import { createDockerBackend } from '../../src/backends/docker/docker-backend.ts';
import type { Backend } from '../../src/contract/backend.ts';
import { makeAttempt } from '../../src/testing/backend-suite.ts';
import { drive } from '../drive.ts';
import { type Contender, defineSubject } from '../measure.ts';
import { timeProcess } from '../processes.ts';

interface State {
  readonly engine: DockerEngine;
  readonly backend: Backend;
  readonly root: string;
}

const PER_ROUND = 3;
const PEER = 'docker run --rm';

const open = ({ socket, images }: DockerEngine) =>
  createDockerBackend({ socket, scope: 'bench', images: [images.busybox] });

/** Folder made, created, observed from inside, run, judged, its end and log durable. */
const attempt: Contender<State> = (state) =>
  drive(() => runOnce(state.backend, state), { inFlight: 1, ms: 0, atLeast: PER_ROUND });

/** The same, and the container is gone, as with `--rm`. */
const attemptUntilGone: Contender<State> = (state) =>
  drive(
    async () => {
      const backend = open(state.engine);
      await runOnce(backend, state);
      await backend.close();
    },
    { inFlight: 1, ms: 0, atLeast: PER_ROUND },
  );

const dockerRun: Contender<State> = ({ engine, root }) =>
  drive(() => timeProcess('/usr/bin/docker', [...flags(engine, root), 'true']), {
    inFlight: 1,
    ms: 0,
    atLeast: PER_ROUND,
  });

async function runOnce(backend: Backend, { engine, root }: State): Promise<void> {
  const made = await makeAttempt({ root, image: engine.images.busybox }, '', { argv: ['true'] });
  const end = await (await backend.start(made)).wait(new AbortController().signal);
  assert.equal(end.status, 'succeeded', end.message);
}

/** Those of `src/backends/docker/container-spec.ts`, as the command knows them. */
function flags({ socket, images }: DockerEngine, root: string): readonly string[] {
  const memory = `${128 * 1024 * 1024}`;
  return [
    ...[
      '-H',
      `unix://${socket}`,
      'run',
      '--rm',
      '--pull',
      'never',
      '--network',
      'none',
      '--ipc',
      'none',
      '--read-only',
    ],
    ...[
      '--cap-drop',
      'ALL',
      '--security-opt',
      'no-new-privileges',
      '--user',
      '65534:65534',
      '--pids-limit',
      '1024',
    ],
    ...[
      '--memory',
      memory,
      '--memory-swap',
      memory,
      '--cpus',
      '1',
      '--hostname',
      'haft',
      '--workdir',
      '/work',
    ],
    ...['--log-driver', 'local', '--tmpfs', `/tmp:rw,nosuid,nodev,size=${memory},mode=1777`],
    ...['--mount', `type=bind,src=${join(root, 'peer')},dst=/work/in,readonly`],
    ...['--mount', `type=bind,src=${join(root, 'peer')},dst=/work/out`],
    images.busybox,
  ];
}

export const dockerRunSubject = defineSubject<State>({
  name: 'docker-run',
  group: 'runs',
  about:
    'An attempt of `true` on the docker backend: its folder made, its container created, looked at from inside before the program begins, ' +
    'run, judged, its log and its end durable; against `docker run --rm` with the same flags. Each on the same private engine.',
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'haft-docker-bench-'));
    const engine = await startDocker(folder);
    const root = join(folder, 'attempts');
    await makeAttempt({ root: join(root, 'peer') }, '');
    return { engine, backend: open(engine), root };
  },
  async close({ engine, backend }) {
    await backend.close();
    await engine.stop();
    rmSync(engine.folder, { recursive: true, force: true });
  },
  comparisons: [
    {
      name: 'true, one at a time',
      rounds: 9,
      contenders: { 'haft attempt': attempt, [PEER]: dockerRun },
      goals: [{ figure: 'p50', ratio: '<=', value: 1, of: PEER }],
    },
    {
      name: 'true, until the container is gone',
      rounds: 9,
      contenders: { 'haft attempt': attemptUntilGone, [PEER]: dockerRun },
      goals: [{ figure: 'p50', ratio: '<=', value: 1, of: PEER }],
    },
  ],
});
