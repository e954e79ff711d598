// Owns: that a program finds the same around it wherever a run is executed: all that docs/run-environment.md lists, byte by byte.
// Refuses: what programs make of it; toolpacks-hybrid.test.ts looks at outputs.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CONFIGURED, rootOf } from '../../scripts/engines/docker-images.ts';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import { withPodman } from '../../scripts/engines/with-podman.ts';
import { withSlurm } from '../../scripts/engines/with-slurm.ts';
import type { CallResponse } from '../../src/contract/envelope.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import type { BackendName, RunsPolicy } from '../../src/contract/policy.ts';
import type { RunData } from '../../src/contract/runs.ts';
import { createDefaultRuntime } from '../../src/preset/default.ts';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';

const docker = withDocker();
const podman = withPodman();
const slurm = withSlurm();
const skip = docker.skip || podman.skip || slurm.skip;

const PACK = join(import.meta.dirname, 'support/environment-probe');
type ImageName = 'busybox' | 'configured';

const SHELLS = { 'by its path': ['/bin/busybox', 'sh'], 'by its name': ['busybox', 'sh'] } as const;

/** Where it is executed, and what else policy says for that. */
interface Place {
  readonly backend: BackendName;
  /** Podman's images are its own. */
  readonly podman?: true;
  slurm?(): Promise<RunsPolicy['slurm']>;
}

const PLACES: Readonly<Record<string, Place>> = {
  docker: { backend: 'docker' },
  slurm: { backend: 'slurm' },
  local: { backend: 'local' },
  podman: { backend: 'docker', podman: true },
  'docker on a node': {
    backend: 'slurm',
    slurm: async () => ({ container: { kind: 'docker', socket: (await docker.engine()).socket } }),
  },
  'podman on a node': {
    backend: 'slurm',
    podman: true,
    slurm: async () => ({ container: { kind: 'podman', command: (await podman.engine()).command } }),
  },
};

async function probe(
  place: Place,
  name: ImageName,
  env: JsonObject,
  shell: readonly string[] = SHELLS['by its path'],
) {
  const [engine, cluster] = [await docker.engine(), await slurm.engine()];
  const { images, socket } = place.podman ? await podman.engine() : engine;
  const image = images[name];
  const folder = rootOf(engine.folder, name);
  const runs: RunsPolicy = {
    backends: ['docker', 'slurm'],
    docker: { socket },
    images: [{ name: `haft/${name}:1`, image }],
    slurm: { conf: cluster.env.SLURM_CONF, images: [{ image, folder }], ...(await place.slurm?.()) },
  };
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-environment-')));
  cpSync(PACK, join(root, 'probe'), { recursive: true });
  writeTrusted(join(root, 'haft.yaml'), JSON.stringify({ version: 1, packs: ['probe'], runs }));
  const runtime = await createDefaultRuntime({ workspace: root });
  try {
    const artifacts = await runtime.artifacts();
    const text = (await artifacts.importBytes(Buffer.from('text\n'))).id;
    const request = { tool: 'environment_probe', args: { image: `haft/${name}:1`, text, env, shell } };
    const { backend } = place;
    const answer = (await runtime.call(request, { backend })) as CallResponse & { readonly data: RunData };
    assert.ok(answer.ok, JSON.stringify(answer.errors));
    const [output] = answer.data.outputs;
    const { bytes } = await artifacts.read(output!.artifact_id);
    const said = Buffer.from(bytes).toString();
    const attempts = await runtime.runs.attempts(answer.runId!);
    assert.deepEqual(
      attempts.map((one) => [one.backend, one.state]),
      [[backend, 'succeeded']],
    );
    return { runId: answer.runId, digest: output!.artifact_id, said };
  } finally {
    await runtime.close();
    rmSync(root, { recursive: true, force: true });
  }
}

const section = (said: string, name: string): readonly string[] =>
  said
    .split(/^== /m)
    .find((part) => part.startsWith(`${name}\n`))
    ?.trimEnd()
    .split('\n')
    .slice(1) ?? [];

describe('the environment of a program', { skip }, () => {
  for (const image of ['busybox', 'configured'] as const) {
    for (const [named, shell] of Object.entries(SHELLS)) {
      it(`has one digest on every backend, with the image "${image}" and a program ${named}`, async () => {
        const [first, ...others] = await Promise.all(
          Object.entries(PLACES).map(async ([name, place]) => ({
            name,
            ...(await probe(place, image, { OF_PLAN: 'é' }, shell)),
          })),
        );
        assert.deepEqual(section(first!.said, 'program'), [...shell, 'sh sh']);
        for (const other of others) {
          assert.equal(other.said, first!.said, `${first!.name} and ${other.name} differ`);
          assert.equal(other.digest, first!.digest);
        }
        const ids = [first!, ...others].filter(({ name }) => !PLACES[name]!.podman).map(({ runId }) => runId);
        assert.equal(new Set(ids).size, 1);
      });
    }
  }

  it('has a shell that calls itself what the plan calls it, on every backend', async () => {
    for (const shell of ['sh', '/bin/sh']) {
      const said = await Promise.all(
        Object.entries(PLACES).map(async ([name, place]) => [
          name,
          section((await probe(place, 'busybox', {}, [shell])).said, 'program'),
        ]),
      );
      assert.deepEqual(
        said,
        Object.keys(PLACES).map((name) => [name, [shell, `${shell} ${shell}`]]),
      );
    }
  });

  it('is the ENV of the image, what every run has, and what the plan says, the later the stronger', async () => {
    const { said } = await probe(PLACES.local!, 'configured', { TERM: 'of the plan', HOME: '/work' });
    const ofImage = CONFIGURED.Env.filter((line) => !/^(LANG|TERM)=/.test(line));
    assert.deepEqual(
      section(said, 'environment'),
      [
        ...ofImage,
        ...[
          'HOME=/work',
          'HOSTNAME=haft',
          'LANG=C.UTF-8',
          'PWD=/work',
          'TERM=of the plan',
          'TMPDIR=/tmp',
          'TZ=UTC',
        ],
      ].sort(),
    );
  });

  it('is an ordinary user with an empty /tmp that no other run sees, nothing open, and the limits of the page', async () => {
    const { said } = await probe(PLACES.local!, 'busybox', {});
    assert.deepEqual(section(said, 'user').slice(0, 4), ['1000', '1000', '1000', 'Umask: 0022']);
    assert.deepEqual(section(said, 'can be written'), ['/dev/shm', '/tmp', '/work/out']);
    assert.deepEqual(section(said, 'scratch').slice(0, 2), ['tmpfs 4096 16384', 'tmpfs 4096 16384']);
    assert.deepEqual(section(said, 'what it makes'), ['out/file 644 1000:1000', 'out/folder 755 1000:1000']);
    assert.deepEqual(
      section(said, 'limits').filter((line) => !/unlimited unlimited/.test(line)),
      [
        'Max stack size 8388608 unlimited bytes ',
        'Max core file size 0 0 bytes ',
        'Max open files 4096 4096 files ',
        'Max locked memory 65536 65536 bytes ',
      ],
    );
  });
});
