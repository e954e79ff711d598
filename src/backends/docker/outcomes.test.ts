import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startDocker } from '../../../scripts/engines/docker.ts';
import { isRunning } from '../../../scripts/engines/private-daemon.ts';
import { withDocker } from '../../../scripts/engines/with-docker.ts';
import type { Attempt } from '../../contract/backend.ts';
import { endOf, logOf, outputOf, seen } from '../../testing/backend/environment.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import { roomFor } from '../watch-out.ts';
import { writeOnce } from '../write-once.ts';
import { createDockerBackend } from './docker-backend.ts';
import { dieBeforeStart, openDocker, openerOn } from './docker-for-tests.ts';

const docker = withDocker();
const open = openerOn(docker);
const MIB = 1024 * 1024;

const container = ({ id }: Attempt) => `haft-${id}`;

describe('an attempt of the docker backend', { skip: docker.skip }, () => {
  it('keeps every byte of its log, whatever they are', async (t) => {
    const env = await open(t);
    const script = String.raw`printf '\000\377\r\nno UTF-8: \303'; head -c 100000 /dev/zero | tr '\000' x; printf end`;
    const { attempt } = await env.run(script);
    const log = readFileSync(join(attempt.folder, 'meta/log'));
    const expected = Buffer.concat([
      Buffer.from([0, 0xff, 0x0d, 0x0a]),
      Buffer.from('no UTF-8: '),
      Buffer.from([0xc3]),
      Buffer.alloc(100_000, 'x'),
      Buffer.from('end'),
    ]);
    assert.equal(Buffer.compare(log, expected), 0);
  });

  it('is ended when it says more than is kept, and what is kept is the beginning', async (t) => {
    const env = await open(t, { logBytes: 100_000 });
    const { attempt, end } = await env.run(`echo first; yes ${'y'.repeat(99)}`);
    assert.deepEqual([end.failure, end.cause], ['limit', 'limit.log_bytes']);
    assert.match(await logOf(attempt), /^first\ny{99}\ny{99}\n/);
    const { size } = statSync(join(attempt.folder, 'meta/log'));
    assert.ok(size > 50_000 && size <= 100_000, `${size} bytes`);
    const short = await env.run(`head -c 200000 /dev/zero; echo > out/done`, { outputs: ['done'] });
    assert.equal(short.end.cause, 'limit.log_bytes');
    const many = await env.run('yes "" | head -n 5900');
    assert.equal(many.end.cause, 'limit.log_bytes');
    assert.equal((await env.run('yes "" | head -n 5800')).end.status, 'succeeded');
  });

  it('is ended soon after there is no more room for what it writes', async (t) => {
    const env = await open(t);
    // At most 50 MiB a second: what lies there at the end tells how long it took.
    const script = 'while :; do head -c 1048576 /dev/zero >> out/big; sleep 0.02; done';
    const { attempt, end } = await env.run(script, { outputs: ['big'], resources: { outputBytes: 4 * MIB } });
    assert.equal(end.cause, 'limit.output_bytes');
    assert.ok(statSync(join(attempt.folder, 'out/big')).size < roomFor(4 * MIB) + 50 * MIB);
  });

  it('is ended when it has written too much to a file without a name', async (t) => {
    const env = await open(t);
    const script = 'exec 3> out/x; rm out/x; while :; do head -c 1048576 /dev/zero >&3; sleep 0.02; done';
    const { end } = await env.run(script, { resources: { outputBytes: 4 * MIB } });
    assert.equal(end.cause, 'limit.output_bytes', end.message);
  });

  it('fails when its disk was full, though it left with 0, and also when the disk has room again', async (t) => {
    const disk = smallDisk(t);
    const env = await open(t, { root: disk });
    const script = 'head -c 67108864 /dev/zero > out/big; echo began; exit 0';
    const attempt = await makeAttempt(env, script, {
      outputs: ['big'],
      resources: { outputBytes: 1024 * MIB },
    });
    const end = await endOf(await env.backend.start(attempt), {});
    assert.deepEqual([end.failure, end.cause], ['infrastructure', 'infrastructure.disk_full'], end.message);
    rmSync(join(attempt.folder, 'out/big'));
    const found = await (await env.reopen()).find(attempt);
    assert.ok(found);
    assert.equal((await endOf(found, {})).cause, 'infrastructure.disk_full');
  });

  it('fails when its folder is full before it begins', async (t) => {
    const disk = smallDisk(t);
    const env = await open(t, { root: disk });
    const attempt = await makeAttempt(env, 'exit 0');
    spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'fill')}`, 'bs=4k']);
    const handle = await env.backend.start(attempt);
    assert.equal((await endOf(handle, {})).cause, 'infrastructure.disk_full');
  });

  it('that nobody attended fails when it ran longer than it may, though it left with 0', async (t) => {
    const engine = await docker.engine();
    const env = await open(t);
    const attempt = await makeAttempt(env, 'sleep 1.2; exit 0', { resources: { wallMs: 1000 } });
    const first = createDockerBackend({ ...engine, scope: env.scope, images: [env.image!] });
    await first.start(attempt);
    await first.close();
    assert.equal(engine.docker('wait', container(attempt)).trim(), '0');
    const found = await env.backend.find(attempt);
    assert.ok(found);
    assert.equal((await endOf(found, {})).cause, 'limit.time');
  });

  it('that nobody attended is ended at its time by who finds it', async (t) => {
    const engine = await docker.engine();
    const env = await open(t);
    const attempt = await makeAttempt(env, 'sleep 60', { resources: { wallMs: 1000 } });
    const first = createDockerBackend({ ...engine, scope: env.scope, images: [env.image!] });
    await first.start(attempt);
    await first.close();
    const found = await env.backend.find(attempt);
    assert.ok(found);
    assert.equal((await endOf(found, {})).cause, 'limit.time');
  });

  it('goes on from where a process died between creating and starting it', async (t) => {
    const engine = await docker.engine();
    const env = await open(t);
    const attempt = await makeAttempt(env, 'echo began >> out/count', { outputs: ['count'] });
    await dieBeforeStart(engine, env, attempt);
    assert.equal(
      engine.docker('inspect', container(attempt), '--format', '{{.State.Status}}').trim(),
      'created',
    );
    const found = await env.backend.find(attempt);
    assert.ok(found);
    assert.equal((await endOf(found, {})).status, 'succeeded');
    assert.equal(await outputOf(attempt, 'count'), 'began\n');
  });

  it('that was cancelled before it was started is never started', async (t) => {
    const engine = await docker.engine();
    const env = await open(t);
    const attempt = await makeAttempt(env, 'echo began >> out/count', { outputs: ['count'] });
    await dieBeforeStart(engine, env, attempt);
    await writeOnce(join(attempt.folder, 'meta/cancel.json'), {});
    const found = await env.backend.find(attempt);
    assert.ok(found);
    assert.equal((await endOf(found, {})).cause, 'cancelled');
    assert.deepEqual(readdirSync(join(attempt.folder, 'out')), []);
  });

  it('that somebody kills from outside is nothing that the program did', async (t) => {
    const engine = await docker.engine();
    const env = await open(t);
    const attempt = await makeAttempt(env, 'echo began; sleep 60');
    const handle = await env.backend.start(attempt);
    await seen(handle, 'stdout', 'began', {});
    engine.docker('kill', container(attempt));
    const end = await endOf(handle, {});
    assert.deepEqual([end.failure, end.cause], ['infrastructure', 'infrastructure.killed']);
  });

  it('whose container somebody removes is lost', async (t) => {
    const engine = await docker.engine();
    const env = await open(t);
    const attempt = await makeAttempt(env, 'echo began; sleep 60');
    const handle = await env.backend.start(attempt);
    await seen(handle, 'stdout', 'began', {});
    engine.docker('rm', '-f', container(attempt));
    const end = await endOf(handle, {});
    assert.notEqual(end.status, 'succeeded');
    assert.equal(end.failure, 'infrastructure');
  });

  it('leaves nothing on the engine when it has ended', async () => {
    const engine = await docker.engine();
    const env = await openDocker(engine);
    const { attempt } = await env.run('exit 0');
    await env.backend.close();
    assert.equal(engine.docker('ps', '-aq', '--filter', `name=${container(attempt)}`), '');
    assert.deepEqual(readdirSync(join(attempt.folder, 'meta')).sort(), ['end.json', 'log']);
    await env.close();
  });

  it('is not reaped by another workspace on the same engine', async (t) => {
    const env = await open(t);
    const other = await open(t);
    const attempt = await makeAttempt(env, 'echo began; until [ -e out/go ]; do sleep 0.05; done', {
      outputs: ['go'],
    });
    const handle = await env.backend.start(attempt);
    assert.deepEqual(await other.backend.reap(async () => false), []);
    await handle.cancel();
  });
});

describe('the docker backend without an engine', () => {
  it('says that the engine cannot be reached, and runs nothing later', async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'haft-no-engine-'));
    t.after(() => rmSync(root, { recursive: true }));
    const image = `none@sha256:${'0'.repeat(64)}`;
    const backend = createDockerBackend({
      socket: join(root, 'no.sock'),
      scope: 's',
      images: [image],
      patienceMs: 100,
    });
    const attempt = await makeAttempt({ root, image }, 'exit 0');
    const end = await endOf(await backend.start(attempt), {});
    assert.deepEqual([end.status, end.cause], ['failed', 'infrastructure.engine']);
    assert.deepEqual(await endOf((await backend.find(attempt))!, {}), end);
    await assert.rejects(backend.find({ ...attempt, folder: root }), { reason: 'run.infrastructure' });
    await assert.rejects(
      backend.reap(async () => true),
      { reason: 'run.infrastructure' },
    );
    await assert.rejects(backend.pinImage!('x'), { reason: 'run.infrastructure' });
    await backend.close();
  });
});

describe('the docker backend whose engine goes away', { skip: docker.skip }, () => {
  it('finds the attempt again when the engine is back, and gives it up when it stays away', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'haft-own-docker-'));
    const engine = await startDocker(folder);
    const env = await openDocker(engine);
    t.after(env.close);
    t.after(async () => {
      await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const attempt = await makeAttempt(env, 'echo began; sleep 60');
    const handle = await env.backend.start(attempt);
    await seen(handle, 'stdout', 'began', {});
    process.kill(Number(readFileSync(join(folder, 'dockerd.pid'), 'utf8')), 'SIGTERM');
    // Its pid file goes before it does, and a dockerd that still runs is not started again.
    while (isRunning(folder, 'dockerd')) await pause(20);
    await startDocker(folder);
    const end = await endOf(handle, {});
    assert.deepEqual([end.status, end.cause], ['failed', 'infrastructure.killed'], end.message);

    const impatient = await openDocker(engine, { patienceMs: 200 });
    const lost = await makeAttempt(impatient, 'echo began; sleep 60');
    const lostHandle = await impatient.backend.start(lost);
    await seen(lostHandle, 'stdout', 'began', {});
    await engine.stop();
    assert.ok(['lost', 'infrastructure.killed'].includes((await endOf(lostHandle, {})).cause ?? ''));
    await impatient.close();
  });
});

/** A file system of 2 MiB, as folders of attempts may be on. */
function smallDisk(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'haft-small-disk-'));
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=0755', 'tmpfs', folder]);
  assert.equal(status, 0, String(stderr));
  t.after(() => {
    spawnSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}
