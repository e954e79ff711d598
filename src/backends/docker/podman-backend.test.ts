import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { withPodman } from '../../../scripts/engines/with-podman.ts';
import { digestOf } from '../../base/image-reference.ts';
import { outputOf } from '../../testing/backend/environment.ts';
import { BACKEND_CASES } from '../../testing/backend-suite.ts';
import { registerCases } from '../../testing/conformance.ts';
import { disobedientEngine, openDocker, openerOn } from './docker-for-tests.ts';

const podman = withPodman();
const open = openerOn(podman);
const ZERO = '0'.repeat(16);

/** What lies in out/ is looked at by the same code whatever the engine: these are shown on Docker. */
const cases = BACKEND_CASES.filter(({ name }) => !/^wait (takes|refuses|says tool\.outputs)/.test(name));

describe('the docker backend on Podman', { skip: podman.skip, concurrency: 3 }, () => {
  registerCases('it conforms to Backend', cases, async () => openDocker(await podman.engine()));

  it('contains as on Docker: the folders that Podman makes writable are not, and nothing is added', async (t) => {
    const env = await open(t);
    const script = `for at in / /etc /dev /run /var/tmp /work /work/in /proc /sys/fs/cgroup; do (: > $at/x) 2>/dev/null && echo $at; done > out/written
      : > /tmp/x && env | sort > out/env`;
    const { attempt, end } = await env.run(script, {
      outputs: ['written', 'env'],
      env: { TZ: 'Asia/Tokyo' },
    });
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
      'TZ=Asia/Tokyo',
    ]);
    const { user, imageId, ...observed } = end.observed ?? {};
    assert.deepEqual(observed, {
      capabilities: [ZERO, ZERO, ZERO, ZERO, ZERO],
      noNewPrivileges: true,
      seccomp: 2,
      interfaces: ['lo'],
      ownNetwork: true,
      readOnlyRoot: true,
      readOnlyInputs: true,
      writableMounts: ['/dev/mqueue', '/dev/shm', '/tmp', '/work/out'],
    });
    assert.match(String(user), /^[1-9]\d*:[1-9]\d*$/);
    assert.match(String(imageId), /^sha256:[0-9a-f]{64}$/);
  });

  it('does not begin a program where Podman leaves it a capability or a filter away', async (t) => {
    const { socket } = await podman.engine();
    const between = await disobedientEngine(socket, ({ HostConfig }) => {
      delete HostConfig.CapDrop;
      HostConfig.SecurityOpt = ['no-new-privileges', 'seccomp=unconfined'];
    });
    t.after(between.close);
    const { end } = await (await open(t, { socket: between.socket })).run('exit 0');
    assert.equal(end.cause, 'infrastructure.containment');
    assert.match(end.message, /it has capabilities .*no filter of system calls is set/);
  });

  it('keeps every byte of a log, whatever they are', async (t) => {
    const env = await open(t);
    const script = String.raw`printf '\000\377\r\nno UTF-8: \303'; head -c 100000 /dev/zero | tr '\000' x; printf end`;
    const { attempt } = await env.run(script);
    const log = readFileSync(join(attempt.folder, 'meta/log'));
    const begins = Buffer.from([0, 0xff, 0x0d, 0x0a, ...Buffer.from('no UTF-8: '), 0xc3]);
    assert.equal(
      Buffer.compare(log, Buffer.concat([begins, Buffer.alloc(100_000, 'x'), Buffer.from('end')])),
      0,
    );
  });

  it('ends what writes too much to a file without a name', async (t) => {
    const script = 'exec 3> out/x; rm out/x; while :; do head -c 1048576 /dev/zero >&3; sleep 0.02; done';
    const { end } = await (await open(t)).run(script, { resources: { outputBytes: 4 * 1024 * 1024 } });
    assert.equal(end.cause, 'limit.output_bytes', end.message);
  });

  it('refuses a digest under a name that Podman does not have it by, whatever other tools may run', async (t) => {
    const engine = await podman.engine();
    const { busybox } = engine.images;
    engine.docker('tag', busybox, 'evil.example.org/x:1');
    t.after(() => engine.docker('untag', busybox, 'evil.example.org/x:1'));
    const digest = digestOf(busybox)!;
    const [evil, made] = [`evil.example.org/x@${digest}`, `good.example.org/any@${digest}`];
    const forOthers = { image: digest, tools: ['other'] };
    for (const images of [
      ['good.example.org/any'],
      ['good.example.org/*'],
      [forOthers, 'good.example.org/*'],
    ]) {
      const env = await open(t, { image: made, images });
      await assert.rejects(env.run('exit 0'), {
        reason: 'policy.denied',
        message: /does not have that digest under that name/,
        details: { image: made },
      });
    }
    for (const [image, images] of [
      [evil, ['evil.example.org/x']],
      [evil, ['evil.example.org/*']],
      [made, [digest]],
    ] as const) {
      const { end } = await (await open(t, { image, images })).run('exit 0');
      assert.equal(end.status, 'succeeded', end.message);
    }
    const { backend } = await open(t);
    assert.deepEqual([await backend.knowsName?.(evil), await backend.knowsName?.(made)], [true, false]);
  });

  it('pins an image that nobody pushed by the id that it has on every engine, and admits it by its tag', async (t) => {
    const engine = await podman.engine();
    const id = `sha256:${engine.docker('image', 'inspect', engine.images.local, '--format', '{{.Id}}').trim()}`;
    const env = await open(t, { image: id, images: ['haft/local:1'] });
    assert.deepEqual(await env.backend.pinImage?.(engine.images.local), { image: id, by: 'image_id' });
    assert.equal((await env.run('cat /etc/local')).end.status, 'succeeded');
    assert.match((await env.backend.probe?.()) ?? '', /^Podman 4\.\S+ answers/);
  });
});
