import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { chown, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { withSlurm } from '../../../scripts/engines/with-slurm.ts';
import { seccompFilter } from '../../capabilities/exec/sandbox/seccomp.ts';
import type { Attempt, AttemptEnd } from '../../contract/backend.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import { findBusybox } from '../docker/docker-backend.ts';
import { type SlurmPlace, slurmPlace } from './fixtures-for-tests.ts';
import type { SlurmBackendOptions } from './slurm-backend.ts';
import { type CommandRunner, createLocalRunner } from './slurm-client.ts';

const slurm = withSlurm();
const NOBODY = 65534;
const MIB = 1024 * 1024;

/** What only a program that is not contained could do; each line that comes out is one too many. */
const ESCAPES = `
try() { "$@" >/dev/null 2>&1 && echo "$*"; }
for place in / /usr /etc /work /work/in /proc/sys/kernel /dev; do try touch $place/x; done
try sh -c 'echo x > /proc/sys/kernel/core_pattern'
try mount -t tmpfs none /tmp
try mount -o remount,rw /
try unshare -U true
try unshare -n true
try cat /etc/shadow
try ls /tmp/haft-slurm-test-*
try ls /root
try ls /home
try ls /run/munge
try chown 0 /work/out
for process in /proc/[0-9]*; do [ "$(cat $process/comm)" = slurmstepd ] && echo $process; done
tail -n +3 /proc/net/dev | grep -v ' lo:'
true`;

interface Asked {
  readonly options?: Partial<SlurmBackendOptions>;
  readonly wanted?: Parameters<typeof makeAttempt>[2];
  readonly image?: string;
  before?(place: SlurmPlace, attempt: Attempt): Promise<void>;
}

async function run(
  script: string,
  { options = {}, wanted = {}, image, before }: Asked,
  check: (end: AttemptEnd, attempt: Attempt, place: SlurmPlace) => Promise<void> | void,
): Promise<void> {
  const place = slurmPlace(await slurm.engine());
  try {
    const backend = await place.open(options);
    const attempt = await makeAttempt(
      { ...place, ...(image === undefined ? {} : { image }) },
      script,
      wanted,
    );
    await before?.(place, attempt);
    const end = await (await backend.start(attempt)).wait(new AbortController().signal);
    await check(end, attempt, place);
  } finally {
    await place.close();
  }
}

function isContained(end: AttemptEnd, attempt: Attempt): void {
  assert.equal(end.status, 'succeeded', end.message);
  assert.equal(readFileSync(join(attempt.folder, 'out/escapes'), 'utf8'), '');
  const { capabilities, interfaces, noNewPrivileges, readOnlyInputs, readOnlyRoot, writableMounts } =
    end.observed as Record<string, unknown>;
  assert.deepEqual(
    capabilities,
    Array.from({ length: 5 }, () => '0000000000000000'),
  );
  assert.deepEqual(interfaces, ['lo']);
  assert.deepEqual([noNewPrivileges, readOnlyInputs, readOnlyRoot], [true, true, true]);
  assert.deepEqual(writableMounts, ['/dev/mqueue', '/dev/shm', '/tmp', '/work/out']);
}

const outputs = ['escapes'];
const escapes = `(${ESCAPES}) > out/escapes`;

describe('a job on a real cluster', { skip: slurm.skip }, () => {
  it('is contained when root submits it, and is not root outside either', async () => {
    await run(escapes, { wanted: { outputs } }, (end, attempt) => {
      isContained(end, attempt);
      assert.notEqual(statSync(join(attempt.folder, 'out/escapes')).uid, 0);
    });
  });

  it('is contained when an ordinary user submits it', async () => {
    const { env } = await slurm.engine();
    const asNobody = createLocalRunner({ env });
    const drop = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] as const;
    const runner: CommandRunner = (command, stdin) => asNobody([...drop, ...command], stdin);
    const before = async ({ root }: SlurmPlace) => {
      chownSync(root, NOBODY, NOBODY);
      for (const entry of await readdir(root, { recursive: true }))
        await chown(join(root, entry), NOBODY, NOBODY);
    };
    await run(escapes, { options: { run: runner }, wanted: { outputs }, before }, (end, attempt) => {
      isContained(end, attempt);
      assert.equal(statSync(join(attempt.folder, 'out/escapes')).uid, NOBODY);
    });
  });

  it('runs under the system call filter that policy gives', async () => {
    const filters = { x86_64: seccompFilter('x64')!, aarch64: seccompFilter('arm64')! };
    const options = { container: { kind: 'bubblewrap', seccomp: filters } } as const;
    const script = `grep -q 'Seccomp:.*2' /proc/self/status || exit 9; ${escapes}; sleep 0.2`;
    await run(script, { options, wanted: { outputs } }, (end, attempt) => {
      isContained(end, attempt);
      assert.equal(end.observed?.seccomp, 2);
    });
  });

  const busybox = findBusybox() ?? '';
  const lacking = busybox === '' && 'it needs a static busybox: apt-get install busybox-static';
  it('sees only the file system of its image', { skip: lacking }, async () => {
    const image = `sha256:${'a'.repeat(64)}`;
    const { env } = await slurm.engine();
    const place = slurmPlace({ env });
    const rootfs = join(place.root, 'rootfs');
    mkdirSync(join(rootfs, 'bin'), { recursive: true });
    chmodSync(place.root, 0o700);
    copyFileSync(busybox, join(rootfs, 'bin/busybox'));
    for (const name of ['sh', 'ls', 'cat']) symlinkSync('busybox', join(rootfs, 'bin', name));
    const options = { container: { kind: 'bubblewrap', images: { [image]: rootfs } } } as const;
    try {
      // Never another environment than elsewhere.
      for (const lines of [undefined, 'PATH=/bin\nno variable\n']) {
        if (lines !== undefined) writeFileSync(`${rootfs}.env`, lines);
        await run('true', { options, image }, (end) => {
          assert.equal(end.cause, 'infrastructure.engine');
          assert.match(end.message, /the ENV of the image/);
        });
      }
      writeFileSync(`${rootfs}.env`, "PATH=/bin\nOWN=it's = its own $HOME\nTZ=Asia/Tokyo");
      const script = 'ls / > out/root; echo "$OWN|$TZ|$PATH" > out/variables';
      const wanted = { outputs: ['root', 'variables'] };
      await run(script, { options, image, wanted }, (end, attempt) => {
        assert.equal(end.status, 'succeeded', end.message);
        const variables = readFileSync(join(attempt.folder, 'out/variables'), 'utf8');
        assert.equal(variables, "it's = its own $HOME|UTC|/bin\n");
        const entries = readFileSync(join(attempt.folder, 'out/root'), 'utf8').trim().split('\n');
        assert.deepEqual(entries, ['bin', 'dev', 'proc', 'tmp', 'work']);
      });
      await assert.rejects(
        run('true', { image }, () => {}),
        { reason: 'policy.denied' },
      );
    } finally {
      await place.close();
    }
  });

  it('is killed for writing more than there is room for, long before it would end', async () => {
    const script =
      'head -c 83886080 /dev/zero > out/big; i=0; while [ $i -lt 6000 ]; do sleep 0.01; i=$((i + 1)); done; : > out/whole';
    const wanted = { outputs: ['big', 'whole'], resources: { outputBytes: 4 * MIB } };
    await run(script, { wanted }, (end, { folder }) => {
      assert.equal(end.cause, 'limit.output_bytes', end.message);
      assert.equal(existsSync(join(folder, 'out/whole')), false);
    });
  });

  it('is killed for what it writes to files without a name', async () => {
    const script = 'exec 3> out/a; rm out/a; while :; do head -c 1048576 /dev/zero >&3; done';
    const wanted = { outputs: ['a'], resources: { outputBytes: 4 * MIB, wallMs: 20_000 } };
    await run(script, { wanted }, (end) => assert.equal(end.cause, 'limit.output_bytes', end.message));
  });

  it('is killed for saying more than is kept', async () => {
    const script = 'while :; do head -c 65536 /dev/zero; done';
    await run(script, { options: { logBytes: MIB } }, (end) =>
      assert.equal(end.cause, 'limit.log_bytes', end.message),
    );
  });

  it('does not execute when it is a duplicate', async () => {
    const { env } = await slurm.engine();
    const once = createLocalRunner({ env });
    const twice: CommandRunner = async (command, stdin) => {
      if (command[0] === 'sbatch') await once(command, stdin);
      return once(command, stdin);
    };
    const script = 'echo began >> out/count; sleep 1';
    await run(
      script,
      { options: { run: twice }, wanted: { outputs: ['count'] } },
      async (end, attempt, place) => {
        assert.equal(end.status, 'succeeded', end.message);
        const backend = await place.open();
        await backend.reap(async () => false);
        assert.equal(readFileSync(join(attempt.folder, 'out/count'), 'utf8'), 'began\n');
      },
    );
  });

  it('may open its own standard output again', async () => {
    await run('echo out > /dev/stdout; echo err > /dev/stderr', {}, (end, { folder }) => {
      assert.equal(end.status, 'succeeded', end.message);
      assert.deepEqual(readFileSync(join(folder, 'meta/log'), 'utf8').split('\n').sort(), ['', 'err', 'out']);
    });
  });

  it('leaves a result with the size and the hash of every output', async () => {
    await run(
      'echo a > out/a',
      { wanted: { outputs: ['a'] }, options: { pollMs: 100 } },
      async (end, { folder }) => {
        assert.equal(end.status, 'succeeded', end.message);
        const said = JSON.parse(readFileSync(join(folder, 'meta/result.json'), 'utf8'));
        assert.deepEqual(said.outputs, [
          { src: 'a', bytes: 2, sha256: '87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7' },
        ]);
      },
    );
  });
});
