// Owns: what `haft doctor` and a refused call say on machines that lack something, each made for real in namespaces.
// Refuses: to change this machine: what is missing is covered where only the command can see it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import { haft, NODE_ARGS, type Ran } from './support/haft.ts';
import { mounting } from './support/private-mount.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const docker = withDocker();

interface Finding {
  readonly name: string;
  readonly state: string;
  readonly evidence: string;
  readonly fix?: string;
}

/** Far beyond anything but a hang: whoever waits for ever fails here. */
const HANG_MS = 180_000;

describe('a machine that cannot contain programs', { skip: mounting.missing }, () => {
  let workspace: Workspace;
  before(() => {
    workspace = makeWorkspace({ 'haft.yaml': "version: 1\nshell_allow: ['^echo hi$']\n" });
  });
  after(() => workspace.remove());

  const run = (words: readonly string[], args: readonly string[], env = process.env): Ran => {
    const [program = '', ...rest] = [...words, process.execPath, ...NODE_ARGS, ...args];
    const options = { cwd: workspace.root, env, timeout: HANG_MS, killSignal: 'SIGKILL' } as const;
    const { status, stdout, stderr } = spawnSync(program, rest, { ...options, encoding: 'utf8' });
    return { status, stdout, stderr };
  };
  const call = (words: readonly string[]) => run(words, ['call', 'shell_exec', '{"cmd":"echo hi"}']);
  const doctor = (words: readonly string[], env = process.env): readonly Finding[] =>
    JSON.parse(run(words, ['doctor', '--json'], env).stdout).findings;
  const sandboxOf = (found: readonly Finding[]) => found.filter(({ name }) => name.startsWith('sandbox'));

  const inMounts = (line: string) => ['unshare', '-m', 'sh', '-c', `${line} && exec "$@"`, 'sh'];
  const WITHOUT_BUBBLEWRAP = inMounts(
    'for one in /usr/bin/bwrap /usr/local/bin/bwrap /bin/bwrap; do [ ! -e $one ] || mount --bind /dev/null $one; done',
  );

  it('without bubblewrap has one finding about sandboxes, with the line that installs it', () => {
    const [only, ...others] = sandboxOf(doctor(WITHOUT_BUBBLEWRAP));
    assert.deepEqual(others, []);
    assert.deepEqual([only?.state, only?.evidence], ['failed', 'bubblewrap is not installed']);
    assert.match(only?.fix ?? '', /install.* bubblewrap/i);
    const told = run(WITHOUT_BUBBLEWRAP, ['doctor']);
    assert.equal(told.status, 1);
    assert.doesNotMatch(told.stdout, /not tried/);
    assert.match(told.stdout, /bubblewrap is not installed\n +Install it: /);
  });

  it('tells the person at the terminal how to get bubblewrap', () => {
    const { status, stderr } = call(WITHOUT_BUBBLEWRAP);
    assert.equal(status, 125);
    assert.match(stderr, /bubblewrap is not installed \[.*\]\n {2}hint: Install it: .*bubblewrap/);
  });

  for (const words of ['unshare -pf', 'unshare -Urpf', 'bwrap --dev-bind / / --unshare-all']) {
    it(`does not wait below ${words}, where /proc belongs to another PID namespace`, () => {
      const { status, stderr } = call(words.split(' '));
      assert.equal(status, 125, stderr);
      assert.match(stderr, /\/proc belongs to another PID namespace/);
      assert.match(stderr, /\n {2}hint: .*mount -t proc proc \/proc/);
      const [only, ...others] = sandboxOf(doctor(words.split(' ')));
      assert.deepEqual([only?.state, others], ['failed', []]);
      assert.match(only?.fix ?? '', /--mount-proc/);
    });
  }

  it('says below a bubblewrap of root what covers /proc, and what to change there works', () => {
    const outer = 'bwrap --dev-bind / / --unshare-pid --proc /proc --tmpfs /proc/bus'.split(' ');
    const { status, stderr } = call(outer);
    assert.equal(status, 125, stderr);
    assert.match(stderr, /a new \/proc cannot be mounted here: .*\/proc\/bus.* covered/);
    assert.match(stderr, /\n {2}hint: .*--unshare-user --uid 1000 --gid 1000/);
    const changed = 'bwrap --dev-bind / / --unshare-pid --proc /proc --unshare-user --uid 1000 --gid 1000';
    assert.equal(call(changed.split(' ')).status, 0);
  });

  it('names programs with what each is for, and those that are missing without calling it a failure', () => {
    const names = ['node', 'ripgrep', 'bash', 'git', 'python3', 'php', 'Docker', 'Podman', 'Slurm'];
    const found = doctor([], { ...process.env, PATH: '/nowhere', DOCKER_HOST: 'unix:///nowhere' });
    const here = doctor([]);
    for (const name of names) {
      const one = found.find((finding) => finding.name === `program: ${name}`);
      assert.match(one?.evidence ?? '', /; .+/, name);
      const comesAlong = name === 'node' || name === 'ripgrep';
      // Podman's socket has one place, and may be served there.
      if (name !== 'Podman') assert.equal(one?.state, comesAlong ? 'ok' : 'absent', name);
      if (one?.state === 'absent') assert.match(one.fix ?? '', /^Install it: /);
    }
    const git = here.find((finding) => finding.name === 'program: git');
    if (existsSync('/usr/bin/git')) assert.match(git?.evidence ?? '', /^\d+\.\d+.*; for git commands/);
    assert.deepEqual(
      found.filter(({ state }) => state === 'failed'),
      [],
    );
  });
});

it('haft doctor does not wait for an engine that never answers', { timeout: HANG_MS }, async () => {
  const { root, path, remove } = makeWorkspace();
  const engine = createServer(() => {}).listen(path('engine.sock'));
  try {
    await once(engine, 'listening');
    const { stdout } = await haft(['doctor', '--json'], {
      cwd: root,
      env: { DOCKER_HOST: `unix://${path('engine.sock')}`, PATH: '/nowhere' },
    });
    const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
    const found = findings.find(({ name }) => name === 'program: Docker');
    assert.deepEqual([found?.state, found?.fix?.startsWith('Install it: ')], ['absent', true]);
  } finally {
    engine.close();
    remove();
  }
});

describe('a container', { skip: docker.skip }, () => {
  it('is named with its version where its engine answers', { timeout: HANG_MS }, async () => {
    const { socket } = await docker.engine();
    const { root, remove } = makeWorkspace();
    const env = { DOCKER_HOST: `unix://${socket}` };
    const { stdout } = await haft(['doctor', '--json'], { cwd: root, env });
    remove();
    const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
    const found = findings.find(({ name }) => name === 'program: Docker');
    assert.match(found?.evidence ?? '', /^Docker \d+\.\d+\S* answers .*; for runs in containers/);
  });

  it('is refused with the options that help, and works with them', { timeout: 2 * HANG_MS }, async () => {
    const engine = await docker.engine();
    const inContainer = (...options: string[]): Ran => {
      const system = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/etc'].filter((path) => existsSync(path));
      const shown = [...system, process.execPath, join(import.meta.dirname, '../..')];
      const words = [
        ...['run', '--rm', '--network', 'none', '--tmpfs', '/work:mode=1777', '--env', 'HOME=/work/home'],
        ...shown.flatMap((path) => ['-v', `${path}:${path}:ro`]),
        ...options,
        engine.images.local,
        ...['/bin/sh', '-c'],
        'mkdir -p /work/home /work/ws && cd /work/ws && "$0" "$@" init >/dev/null && exec "$0" "$@" call shell_exec \'{"cmd":"echo hi"}\'',
        ...[process.execPath, ...NODE_ARGS],
      ];
      const env = { ...process.env, DOCKER_HOST: `unix://${engine.socket}` };
      const limits = { env, timeout: HANG_MS, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
      const { status, stdout, stderr } = spawnSync('docker', words, limits);
      return { status, stdout, stderr };
    };
    const helps = ['seccomp=unconfined', 'systempaths=unconfined', 'apparmor=unconfined'];
    const opened = helps.flatMap((one) => ['--security-opt', one]);
    for (const options of [
      [],
      ['--user', '1000'],
      opened.slice(0, 2),
      opened.slice(2, 4),
      ['--cap-add', 'SYS_ADMIN'],
    ]) {
      const { status, stderr } = inContainer(...options);
      assert.equal(status, 125, `${options.join(' ')}: ${stderr}`);
      for (const help of helps) assert.match(stderr, new RegExp(`\\n {2}hint: .*--security-opt ${help}`));
    }
    for (const options of [opened, [...opened, '--user', '1000'], ['--privileged', '--user', '1000']]) {
      const { status, stderr } = inContainer(...options);
      assert.equal(status, 0, `${options.join(' ')}: ${stderr}`);
    }
  });
});
