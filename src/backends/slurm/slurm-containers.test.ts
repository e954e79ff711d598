import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { DockerEngine } from '../../../scripts/engines/docker.ts';
import type { EngineForTests } from '../../../scripts/engines/engine-for-tests.ts';
import type { PodmanEngine } from '../../../scripts/engines/podman.ts';
import type { SlurmCluster } from '../../../scripts/engines/slurm.ts';
import { withDocker } from '../../../scripts/engines/with-docker.ts';
import { withPodman } from '../../../scripts/engines/with-podman.ts';
import { withSlurm } from '../../../scripts/engines/with-slurm.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { digestOf, repositoryOf } from '../../base/image-reference.ts';
import type { Attempt, AttemptEnd, Backend, BackendHandle } from '../../contract/backend.ts';
import { endOf, outputOf, seen } from '../../testing/backend/environment.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import type { EngineContainer } from './containers.ts';
import { slurmPlace } from './fixtures-for-tests.ts';
import { type CommandRunner, createLocalRunner } from './slurm-client.ts';

const slurm = withSlurm();
const MIB = 1024 * 1024;
const NOBODY = 65534;
const ZERO = '0'.repeat(16);

interface Kind {
  readonly engine: EngineForTests<DockerEngine>;
  container(engine: DockerEngine): Omit<EngineContainer, 'images'>;
}

/** Docker over the socket of its engine; Podman as nodes have it, without any service. */
const KINDS: Readonly<Record<EngineContainer['kind'], Kind>> = {
  docker: { engine: withDocker(), container: ({ socket }) => ({ kind: 'docker', socket }) },
  podman: {
    engine: withPodman(),
    container: (engine) => ({ kind: 'podman', command: (engine as PodmanEngine).command }),
  },
};

interface Otherwise {
  /** A word that the engine takes for another. */
  readonly flag?: string;
  readonly instead?: string;
  readonly images?: EngineContainer['images'];
  readonly image?: string;
}

interface Begun {
  readonly attempt: Attempt;
  readonly handle: BackendHandle;
  readonly backend: Backend;
  readonly engine: DockerEngine;
}

for (const [name, kind] of Object.entries(KINDS)) {
  const open = async (
    script: string,
    wanted: Parameters<typeof makeAttempt>[2],
    { flag, instead, images, image: other }: Otherwise,
    check: (begun: Begun) => Promise<void>,
  ): Promise<void> => {
    const engine = await kind.engine.engine();
    const place = slurmPlace(await slurm.engine());
    const image = other ?? engine.images.busybox;
    try {
      const usual = kind.container(engine);
      const command = usual.command ?? '/usr/bin/docker';
      const container = {
        ...usual,
        ...(flag && instead ? { command: changing(place.root, command, flag, instead) } : {}),
        images: images ?? [image],
        processes: 64,
      };
      const backend = await place.open({ container });
      const attempt = await makeAttempt({ root: place.root, image }, script, wanted);
      await check({ attempt, backend, engine, handle: await backend.start(attempt) });
      await eventually(() => containers(engine) === '', 'the container is gone');
    } finally {
      await place.close();
    }
  };
  const run = (
    script: string,
    wanted: Parameters<typeof makeAttempt>[2],
    check: (end: AttemptEnd, attempt: Attempt) => Promise<void> | void,
  ) => open(script, wanted, {}, async ({ attempt, handle }) => check(await endOf(handle, {}), attempt));

  describe(`a job in a container of ${name}`, { skip: slurm.skip || kind.engine.skip }, () => {
    it('is contained as on the docker backend, and says what was seen from inside', async () => {
      const script = `for at in / /etc /dev /run /var/tmp /work /work/in /proc /sys/fs/cgroup; do (: > $at/x) 2>/dev/null && echo $at; done > out/written
        : > /tmp/x; tail -n +3 /proc/net/dev | grep -v ' lo:' >> out/written; env | sort > out/env; echo said; echo more >&2`;
      const outputs = ['written', 'env'];
      await run(script, { outputs, env: { id: '1' } }, async (end, attempt) => {
        assert.equal(end.status, 'succeeded', end.message);
        assert.equal(await outputOf(attempt, 'written'), '');
        assert.deepEqual((await outputOf(attempt, 'env')).trim().split('\n'), [
          'HOME=/tmp',
          'HOSTNAME=haft',
          'LANG=C.UTF-8',
          'PATH=/bin',
          'PWD=/work',
          'SHLVL=1',
          'TMPDIR=/tmp',
          'TZ=UTC',
          'id=1',
        ]);
        const engine = await kind.engine.engine();
        const id = engine.docker('image', 'inspect', engine.images.busybox, '--format', '{{.Id}}');
        const { user, job, node, ...observed } = end.observed ?? {};
        assert.deepEqual(observed, {
          capabilities: [ZERO, ZERO, ZERO, ZERO, ZERO],
          noNewPrivileges: true,
          seccomp: 2,
          interfaces: ['lo'],
          ownNetwork: true,
          readOnlyRoot: true,
          readOnlyInputs: true,
          writableMounts: ['/dev/mqueue', '/dev/shm', '/tmp', '/work/out'],
          imageId: `sha256:${id.trim().replace('sha256:', '')}`,
        });
        assert.match(String(user), /^[1-9]\d*:[1-9]\d*$/);
        assert.ok(job && node);
        const log = readFileSync(join(attempt.folder, 'meta/log'), 'utf8');
        assert.deepEqual(log.trim().split('\n').sort(), ['more', 'said']);
        assert.notEqual(statSync(join(attempt.folder, 'out/env')).uid, 0);
      });
    });

    it('is killed for writing more than there is room for, long before it would end', async () => {
      const script =
        'head -c 83886080 /dev/zero > out/big; i=0; while [ $i -lt 6000 ]; do sleep 0.01; i=$((i + 1)); done; : > out/whole';
      const wanted = { outputs: ['big', 'whole'], resources: { outputBytes: 4 * MIB } };
      await run(script, wanted, async (end, attempt) => {
        assert.equal(end.cause, 'limit.output_bytes', end.message);
        assert.equal(existsSync(join(attempt.folder, 'out/whole')), false);
      });
    });

    it('is killed for what it writes to files without a name, and for the memory of a child', async () => {
      const unnamed = 'exec 3> out/a; rm out/a; while :; do head -c 1048576 /dev/zero >&3; done';
      await run(unnamed, { resources: { outputBytes: 4 * MIB, wallMs: 20_000 } }, (end) =>
        assert.equal(end.cause, 'limit.output_bytes', end.message),
      );
      const greedy = 'head -c 268435456 /dev/zero | tail > /dev/null; exit 0';
      await run(greedy, { resources: { memoryBytes: 32 * MIB } }, (end) =>
        assert.equal(end.cause, 'limit.memory', end.message),
      );
    });

    it('says how its program ended', async () => {
      await run('exit 125', {}, (end) => assert.deepEqual([end.cause, end.exitCode], ['tool.exit', 125]));
      await run('kill -KILL $$', {}, (end) => assert.equal(end.cause, 'tool.signal', end.message));
      await run('', { argv: ['nothing-of-this-name'] }, (end) => assert.equal(end.cause, 'tool.not_started'));
      await run('sleep 60', { resources: { wallMs: 500 } }, (end) => assert.equal(end.cause, 'limit.time'));
    });

    it('leaves no container when it is cancelled', async () => {
      await open('echo began; sleep 600', {}, {}, async ({ handle }) => {
        await seen(handle, 'stdout', 'began', {});
        await handle.cancel();
        assert.equal((await endOf(handle, {})).cause, 'cancelled');
      });
    });

    it('leaves no container when everything of the job is killed at once', async () => {
      await open('echo began; sleep 600', {}, {}, async ({ attempt, handle }) => {
        await seen(handle, 'stdout', 'began', {});
        const { job } = JSON.parse(readFileSync(join(attempt.folder, 'meta/claim'), 'utf8'));
        killProcesses(await slurm.engine(), job);
        assert.notEqual((await endOf(handle, {})).status, 'succeeded');
      });
    });

    it('does not begin its program in a container that is not as it must be', async () => {
      // As an engine does that is configured, or asked, otherwise.
      for (const [flag, instead, words] of [
        ['ALL', 'NET_RAW', /it has capabilities/],
        [
          'no-new-privileges',
          'seccomp=unconfined',
          /it may gain privileges; no filter of system calls is set/,
        ],
        ['--read-only', '--read-only=false', /its root can be written/],
      ] as const)
        await open('echo > out/ran', { outputs: ['ran'] }, { flag, instead }, async ({ attempt, handle }) => {
          const end = await endOf(handle, {});
          assert.deepEqual([end.failure, end.cause], ['infrastructure', 'infrastructure.containment']);
          assert.match(end.message, words);
          assert.deepEqual(readdirSync(join(attempt.folder, 'out')), []);
        });
    });

    it('runs what policy names by its repository where the node has it under that name, and nothing else', async () => {
      const { busybox } = (await kind.engine.engine()).images;
      const forOthers = { image: digestOf(busybox)!, tools: ['other'] };
      const images = [forOthers, repositoryOf(busybox)];
      await open('exit 0', {}, { images }, async ({ handle }) => {
        const end = await endOf(handle, {});
        assert.equal(end.status, 'succeeded', end.message);
      });
      const image = `good.example.org/any@${digestOf(busybox)}`;
      await open('exit 0', {}, { images: [forOthers, 'good.example.org/*'], image }, async ({ handle }) => {
        const end = await endOf(handle, {});
        assert.equal(end.cause, 'infrastructure.engine');
        assert.match(end.message, /does not have the digest of the image under that name/);
      });
    });

    it('refuses images that policy does not name, and none at all', async () => {
      await assert.rejects(
        open('exit 0', {}, { images: ['other/*'] }, async () => {}),
        { reason: 'policy.denied' },
      );
      const place = slurmPlace(await slurm.engine());
      try {
        const container = { ...kind.container(await kind.engine.engine()), images: ['*'] };
        const backend = await place.open({ container });
        for (const image of [undefined, 'haft/busybox:1'])
          await assert.rejects(
            makeAttempt({ root: place.root, ...(image === undefined ? {} : { image }) }, 'exit 0').then(
              backend.start,
            ),
            { reason: 'policy.denied' },
          );
      } finally {
        await place.close();
      }
    });
  });
}

describe('a job of an ordinary user in a container of docker', {
  skip: slurm.skip || KINDS.docker.engine.skip,
}, () => {
  it('is contained, runs as that user, and is watched', async () => {
    const [{ env }, engine] = await Promise.all([slurm.engine(), KINDS.docker.engine.engine()]);
    // As for members of the group that may use the engine.
    chmodSync(engine.folder, 0o711);
    chmodSync(engine.socket, 0o666);
    const asRoot = createLocalRunner({ env });
    const drop = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] as const;
    const asNobody: CommandRunner = (command, stdin) => asRoot([...drop, ...command], stdin);
    const image = engine.images.busybox;
    const place = slurmPlace({ env });
    try {
      const container = { ...KINDS.docker.container(engine), images: [image] };
      const backend = await place.open({ run: asNobody, container });
      const script =
        'cat in/greeting; id -u; exec 3> out/a; rm out/a; while :; do head -c 1048576 /dev/zero >&3; done';
      const resources = { outputBytes: 4 * MIB, wallMs: 20_000 };
      const attempt = await makeAttempt({ root: place.root, image }, script, { resources });
      chownSync(place.root, NOBODY, NOBODY);
      for (const entry of readdirSync(place.root, { recursive: true, encoding: 'utf8' }))
        chownSync(join(place.root, entry), NOBODY, NOBODY);
      const end = await endOf(await backend.start(attempt), {});
      assert.equal(end.cause, 'limit.output_bytes', end.message);
      assert.equal(end.observed?.user, `${NOBODY}:${NOBODY}`);
      assert.equal(readFileSync(join(attempt.folder, 'meta/log'), 'utf8'), `hello\n${NOBODY}\n`);
    } finally {
      await place.close();
    }
  });
});

/** The engine's command, except that it takes one word for another when it creates a container. */
function changing(root: string, command: string, flag: string, instead: string): string {
  const path = join(root, 'engine');
  const script = `#!/bin/sh
n=$#
while [ "$n" -gt 0 ]; do
  word=$1; shift; n=$((n - 1))
  [ "$word" != ${flag} ] || word=${instead}
  set -- "$@" "$word"
done
exec ${command} "$@"\n`;
  writeFileSync(path, script, { mode: 0o755 });
  return path;
}

/** Nobody of it can clean up: as when a node runs out of memory, or Slurm out of patience. The script comes first. */
function killProcesses({ nodes }: Pick<SlurmCluster, 'nodes'>, job: string): void {
  const ofJob = (pid: string) => {
    try {
      const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
      // Slurm's own tells the controller that the job has ended.
      if (readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('slurmstepd')) return false;
      return nodes.some((node) => groups.includes(node)) && groups.includes(`/job_${job}/`);
    } catch {
      return false;
    }
  };
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && ofJob(name));
  assert.ok(pids.length > 1, 'the script and what it started');
  for (const pid of pids.map(Number).sort((a, b) => a - b)) process.kill(pid, 'SIGKILL');
}

/** Names of those that are there, running or not. */
const containers = (engine: DockerEngine) =>
  engine.docker('ps', '--all', '--filter', 'name=haft-att', '--format', '{{.Names}}').trim();
