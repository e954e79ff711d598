import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { chown, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { IMAGE_ROOTS } from '../../../scripts/engines/image-roots.ts';
import { withSlurm } from '../../../scripts/engines/with-slurm.ts';
import { seccompFilter } from '../../capabilities/exec/sandbox/seccomp.ts';
import type { Attempt, AttemptEnd } from '../../contract/backend.ts';
import { endOf, outputOf } from '../../testing/backend/environment.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import { slurmPlace } from './fixtures-for-tests.ts';
import { type CommandRunner, createLocalRunner } from './slurm-client.ts';

const slurm = withSlurm();
const NOBODY = 65534;
const IMAGE = `sha256:${'a'.repeat(64)}`;
const ZERO = '0'.repeat(16);

/** Takes the options that Apptainer is given, and does with bubblewrap what they mean. No Apptainer can be had here. */
const STAND_IN = `#!/bin/bash
args=(--unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --seccomp 9) binds=()
while [ $# -gt 0 ]; do
  case $1 in
    --silent | exec | --containall | --cleanenv | --no-home | --no-eval | --net | --no-privs) shift ;;
    --no-mount | --network | --security | --workdir) shift 2 ;;
    --scratch) binds+=(--perms 1777 --tmpfs "$2"); shift 2 ;;
    --hostname) args+=(--hostname "$2"); shift 2 ;;
    --pwd) args+=(--chdir "$2"); shift 2 ;;
    --mount)
      IFS=, read -r _ src dst ro <<<"$2"
      [ -n "$ro" ] && bind=--ro-bind || bind=--bind
      binds+=($bind "\${src#src=}" "\${dst#dst=}"); shift 2 ;;
    *) break ;;
  esac
done
root=$1; shift
for from in "$root"/*; do [ "\${from##*/}" = tmp ] || args+=(--ro-bind "$from" "/\${from##*/}"); done
exec bwrap "\${args[@]}" --proc /proc --dev /dev --perms 1777 --tmpfs /dev/shm --remount-ro /dev "\${binds[@]}" \\
  --remount-ro / EXTRA -- "$@" 9<"$(dirname "$0")/filter"
`;

async function run(
  script: string,
  wanted: Parameters<typeof makeAttempt>[2],
  check: (end: AttemptEnd, attempt: Attempt) => Promise<void> | void,
  extra = '',
): Promise<void> {
  const { env } = await slurm.engine();
  const place = slurmPlace({ env });
  const tools = mkdtempSync(join(tmpdir(), 'haft-apptainer-'));
  chmodSync(tools, 0o755);
  IMAGE_ROOTS.busybox(join(tools, 'busybox'));
  writeFileSync(join(tools, 'busybox.env'), 'PATH=/bin\nOWN=of the image\n');
  writeFileSync(join(tools, 'filter'), seccompFilter(process.arch)!);
  writeFileSync(join(tools, 'apptainer'), STAND_IN.replace('EXTRA', extra), { mode: 0o755 });
  const asRoot = createLocalRunner({ env });
  const drop = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] as const;
  const asNobody: CommandRunner = (command, stdin) => asRoot([...drop, ...command], stdin);
  const images = { [IMAGE]: join(tools, 'busybox') };
  try {
    const backend = await place.open({
      run: asNobody,
      container: { kind: 'apptainer', command: join(tools, 'apptainer'), images },
    });
    const attempt = await makeAttempt({ root: place.root, image: IMAGE }, script, wanted);
    chownSync(place.root, NOBODY, NOBODY);
    for (const entry of await readdir(place.root, { recursive: true }))
      await chown(join(place.root, entry), NOBODY, NOBODY);
    await check(await endOf(await backend.start(attempt), {}), attempt);
  } finally {
    await place.close();
    rmSync(tools, { recursive: true });
  }
}

describe('the script around Apptainer, with bubblewrap in its place', { skip: slurm.skip }, () => {
  it('runs the program in its environment, and tells what was seen from inside', async () => {
    const wanted = { outputs: ['env'], env: { id: '1' } };
    await run('cat in/greeting; : > /tmp/x; env | sort > out/env', wanted, async (end, attempt) => {
      assert.equal(end.status, 'succeeded', end.message);
      assert.deepEqual((await outputOf(attempt, 'env')).trim().split('\n'), [
        'HOME=/tmp',
        'HOSTNAME=haft',
        'LANG=C.UTF-8',
        'OWN=of the image',
        'PATH=/bin',
        'PWD=/work',
        'SHLVL=1',
        'TMPDIR=/tmp',
        'TZ=UTC',
        'id=1',
      ]);
      const { capabilities, interfaces, ownNetwork, readOnlyRoot, seccomp, user, writableMounts } =
        end.observed as Record<string, unknown>;
      assert.deepEqual(capabilities, [ZERO, ZERO, ZERO, ZERO, ZERO]);
      assert.deepEqual([interfaces, ownNetwork, readOnlyRoot, seccomp], [['lo'], true, true, 2]);
      assert.deepEqual(
        [user, writableMounts],
        ['65534:65534', ['/dev/pts', '/dev/shm', '/tmp', '/work/out']],
      );
      assert.equal(readFileSync(join(attempt.folder, 'meta/log'), 'utf8'), 'hello\n');
    });
  });

  it('ends everything inside at a limit', async () => {
    const script = 'sleep 600 & while :; do head -c 1048576 /dev/zero >> out/big; sleep 0.02; done';
    await run(script, { outputs: ['big'], resources: { outputBytes: 4 * 1024 * 1024 } }, (end) =>
      assert.equal(end.cause, 'limit.output_bytes', end.message),
    );
  });

  it('does not begin the program where something else can be written', async () => {
    const leaky = '--perms 1777 --tmpfs /dev/shm/leak';
    await run(
      'echo > out/ran',
      { outputs: ['ran'] },
      (end) => {
        assert.equal(end.cause, 'infrastructure.containment', end.message);
        assert.match(end.message, /it can write to \/dev\/shm\/leak/);
      },
      leaky,
    );
  });
});
