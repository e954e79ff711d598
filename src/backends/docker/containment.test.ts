import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { withDocker } from '../../../scripts/engines/with-docker.ts';
import { newId } from '../../base/new-id.ts';
import { outputOf } from '../../testing/backend/environment.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import { disobedientEngine, openerOn } from './docker-for-tests.ts';

const docker = withDocker();
const open = openerOn(docker);

const ZERO = '0'.repeat(16);

/** What an engine may do instead of what it is told, and the words in which that is noticed. */
const DISOBEDIENCE: Readonly<
  Record<
    string,
    readonly [change: (host: Record<string, unknown>, spec: Record<string, unknown>) => void, words: RegExp]
  >
> = {
  'keeps capabilities': [(host) => delete host.CapDrop, /it has capabilities \(.*00000000a80425fb/],
  'lets privileges be gained': [(host) => delete host.SecurityOpt, /it may gain privileges/],
  'filters no system calls': [
    (host) => (host.SecurityOpt = ['no-new-privileges', 'seccomp=unconfined']),
    /no filter of system calls is set \(seccomp 0\)/,
  ],
  'leaves the network': [
    (host, spec) => {
      host.NetworkMode = 'host';
      // runc itself refuses to set those of the machine's own network.
      host.Sysctls = {};
      spec.NetworkDisabled = false;
      spec.Hostname = '';
    },
    /it has the network interfaces lo .*it shares the network of the machine/,
  ],
  'makes the root writable': [(host) => (host.ReadonlyRootfs = false), /its root can be written/],
  'makes the inputs writable': [
    (host) => ((host.Mounts as { ReadOnly: boolean }[])[0]!.ReadOnly = false),
    /its inputs can be written/,
  ],
  'brings something writable of its own': [
    (host) => ((host.Tmpfs as Record<string, string>)['/extra'] = 'rw,mode=1777'),
    /it can write to \/extra/,
  ],
};

describe('a container of the docker backend', { skip: docker.skip }, () => {
  it('has no capability, no new privileges, a filter, only lo, and is read-only but for out/ and /tmp', async (t) => {
    const env = await open(t);
    const script = `
      grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status > out/status
      tail -n +3 /proc/net/dev | cut -d: -f1 > out/net
      for at in / /etc /bin /dev /work /work/in /.haft /sys /proc /sys/fs/cgroup; do (: > $at/x) 2>/dev/null && echo $at; done > out/written
      : > /tmp/x && : > out/x && rm out/x; (: > in/greeting)
      hostname > out/host; id -u > out/user; ls /var/run/docker.sock /run/docker.sock; exit 0`;
    const outputs = ['status', 'net', 'written', 'host', 'user'];
    const { attempt, end } = await env.run(script, { outputs });
    assert.equal(end.status, 'succeeded', end.message);
    const seen = async (name: string) =>
      (await outputOf(attempt, name))
        .trim()
        .replaceAll(/[ \t]+/g, ' ')
        .split('\n');
    assert.deepEqual(await seen('status'), [
      ...['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((set) => `${set}: ${ZERO}`),
      'NoNewPrivs: 1',
      'Seccomp: 2',
    ]);
    assert.deepEqual(await seen('net'), ['lo']);
    assert.deepEqual(await seen('written'), ['']);
    assert.deepEqual(await seen('host'), ['haft']);
    assert.notDeepEqual(await seen('user'), ['0']);
    assert.equal(await outputOf(attempt, '../in/greeting'), 'hello\n');
  });

  it('has the environment of every run, what its plan adds, and the PATH of its image', async (t) => {
    const env = await open(t);
    const { attempt } = await env.run('', { argv: ['env'], env: { id: '1', TZ: 'Asia/Tokyo' } });
    assert.deepEqual((await outputOf(attempt, '../meta/log')).trim().split('\n').sort(), [
      'HOME=/tmp',
      'HOSTNAME=haft',
      'LANG=C.UTF-8',
      'PATH=/bin',
      'PWD=/work',
      'TMPDIR=/tmp',
      'TZ=Asia/Tokyo',
      'id=1',
    ]);
  });

  it('tells what was observed from inside, and which image it was', async (t) => {
    const engine = await docker.engine();
    const env = await open(t);
    const { end } = await env.run(`echo 'haft-observed caps=ff'`);
    const imageId = engine.docker('image', 'inspect', engine.images.busybox, '--format', '{{.Id}}').trim();
    const { user, ...observed } = end.observed ?? {};
    assert.deepEqual(observed, {
      capabilities: [ZERO, ZERO, ZERO, ZERO, ZERO],
      noNewPrivileges: true,
      seccomp: 2,
      interfaces: ['lo'],
      ownNetwork: true,
      readOnlyRoot: true,
      readOnlyInputs: true,
      writableMounts: ['/dev/mqueue', '/dev/shm', '/tmp', '/work/out'],
      imageId,
    });
    assert.match(String(user), /^[1-9]\d*:[1-9]\d*$/);
  });

  for (const [what, [change, words]] of Object.entries(DISOBEDIENCE)) {
    it(`does not begin its program on an engine that ${what}`, async (t) => {
      const engine = await docker.engine();
      const between = await disobedientEngine(engine.socket, (spec) => change(spec.HostConfig, spec));
      const env = await open(t, { socket: between.socket });
      t.after(between.close);
      const { attempt, end } = await env.run('echo > out/ran', { outputs: ['ran'] });
      assert.deepEqual([end.status, end.cause], ['failed', 'infrastructure.containment'], end.message);
      assert.match(end.message, words);
      assert.ok(end.observed);
      assert.deepEqual(readdirSync(join(attempt.folder, 'out')), []);
    });
  }

  it('does not begin its program as root, to whom more can be written', async (t) => {
    const env = await open(t, { user: '0:0' });
    const { attempt, end } = await env.run('echo > out/ran', { outputs: ['ran'] });
    assert.equal(end.cause, 'infrastructure.containment');
    assert.deepEqual(readdirSync(join(attempt.folder, 'out')), []);
  });

  it('does not count as a success when nobody saw it from inside', async (t) => {
    const engine = await docker.engine();
    const between = await disobedientEngine(engine.socket, (spec) => {
      spec.Entrypoint = ['/bin/sh', '-c', 'exit 0'];
    });
    const env = await open(t, { socket: between.socket });
    t.after(between.close);
    const { end } = await env.run('exit 0');
    assert.deepEqual([end.status, end.cause], ['failed', 'infrastructure.containment']);
  });

  it('does not begin an attempt that has begun before, though the engine starts it again', async (t) => {
    const engine = await docker.engine();
    const env = await open(t);
    const attempt = await makeAttempt(env, 'echo began >> out/count', { outputs: ['count'] });
    // Ended behind the back of everybody: there is a container, it ran, and no end is recorded.
    const first = await (await open(t, { scope: env.scope })).backend.start(attempt);
    void first.wait(AbortSignal.timeout(60_000)).catch(() => {});
    engine.docker('wait', `haft-${attempt.id}`);
    engine.docker('start', `haft-${attempt.id}`);
    engine.docker('wait', `haft-${attempt.id}`);
    assert.equal(await outputOf(attempt, 'count'), 'began\n');
  });

  it('cannot start more processes than it may', async (t) => {
    const env = await open(t, { processes: 12 });
    const { attempt, end } = await env.run('for n in $(seq 30); do sleep 5 & done; exit 0');
    assert.equal(end.cause, 'tool.exit');
    assert.match(await outputOf(attempt, '../meta/log'), /can't fork/);
  });

  it('is none without a busybox that runs in any image', async (t) => {
    for (const busybox of ['/no/such/busybox', process.execPath]) {
      const env = await open(t, { busybox });
      await assert.rejects(env.run('exit 0'), { reason: 'sandbox.unavailable' });
    }
  });

  it('refuses an attempt whose id is no name', async (t) => {
    const env = await open(t);
    const attempt = await makeAttempt(env, 'exit 0');
    for (const id of ['', '../x', 'a/b', `${newId('a')}?x`])
      await assert.rejects(env.backend.start({ ...attempt, id }), { reason: 'usage' });
  });
});
