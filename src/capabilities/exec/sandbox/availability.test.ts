// Owns: that a machine which cannot contain programs is told apart, with the reason and what to do.
// Refuses: to change this machine; what it may not do is taken away in a namespace of the test's own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { SandboxAvailability } from '../../../contract/sandbox.ts';
import { explainFailure, findPrograms } from './availability.ts';
import { createSandbox } from './create-sandbox.ts';

type Answer = SandboxAvailability & { out?: string };

/** Asks for a sandbox in a process that is root in a user namespace of its own, after a line of shell there. */
const availableAfter = (line: string): Answer =>
  availableIn(['unshare', '-Ur', '-m', 'sh', '-c', `${line}; exec "$@"`, 'sh']);

/** Asks for a sandbox in a process that is started by these words. One that waits for ever fails. */
function availableIn(words: readonly string[]): Answer {
  const fixture = join(import.meta.dirname, 'probes.ts');
  const code = `import { withSandbox } from ${JSON.stringify(fixture)};
    await withSandbox({}, async ({ sandbox, sh }) => {
      const available = await sandbox.available();
      const { out } = await sh('echo x > f && cat f');
      console.log(JSON.stringify({ ...available, out }));
    });`;
  const [program = '', ...rest] = [...words, process.execPath, '--input-type=module-typescript', '-e', code];
  return JSON.parse(
    execFileSync(program, rest, { encoding: 'utf8', timeout: 120_000, killSignal: 'SIGKILL' }),
  );
}

const explained = (answer: Answer): string => (answer.ok ? '' : `${answer.reason}\n${answer.hint}`);

describe('available', () => {
  it('says so when user namespaces are forbidden', () => {
    const answer = availableAfter('echo 0 > /proc/sys/user/max_user_namespaces');
    assert.equal(answer.ok, false);
    assert.match(answer.ok ? '' : answer.reason, /namespaces/);
    assert.match(answer.ok ? '' : answer.hint, /max_user_namespaces/);
    assert.equal(answer.out, '');
  });

  it('finds the best that is left to a root without power', () => {
    const answer = availableAfter('true');
    assert.deepEqual([answer.ok && answer.observed.identity, answer.out], ['bare_root', 'x\n']);
  });

  it('refuses a /proc of another PID namespace, where every number would be somebody else', () => {
    // Without a user namespace of its own only root may make one.
    const byRoot = process.getuid?.() === 0 ? ['unshare -pf'] : [];
    for (const words of [...byRoot, 'unshare -Urpf', 'bwrap --dev-bind / / --unshare-pid']) {
      const answer = availableIn(words.split(' '));
      assert.match(explained(answer), /^\/proc belongs to another PID namespace\n.*mount -t proc/, words);
      assert.equal(answer.out, '');
    }
  });

  it('refuses a machine without /proc', () => {
    const answer = availableAfter('mount -t tmpfs none /proc');
    assert.match(explained(answer), /^\/proc is not mounted\n.*mount -t proc/);
  });

  it('takes the /proc of a PID namespace that has its own', () => {
    assert.equal(availableIn(['unshare', '-Urpf', '--mount-proc']).out, 'x\n');
  });

  it('says what covers a /proc that no new one can be mounted beside, and how to do without', () => {
    const outer = 'bwrap --dev-bind / / --unshare-pid --proc /proc'.split(' ');
    const mask = ['--tmpfs', '/proc/bus'];
    const answer = availableIn([...outer, ...mask]);
    assert.match(explained(answer), /^a new \/proc cannot be mounted here: .*\/proc\/bus.* covered\n/);
    assert.match(explained(answer), /--unshare-user --uid 1000 --gid 1000/);
    assert.match(explained(answer), /systempaths=unconfined/);
  });

  it('refuses folders of the system as workspaces', async () => {
    for (const workspace of ['/', '/usr', '/tmp']) {
      const sandbox = createSandbox({ workspace });
      const available = await sandbox.available();
      assert.match(available.ok ? '' : available.reason, /folder of the system/);
      assert.equal((await sandbox.run({ argv: ['true'], env: {} })).refused?.reason, 'sandbox.unavailable');
      await sandbox.close();
    }
  });
});

describe('findPrograms', () => {
  it('says how to install what is missing', () => {
    const found = findPrograms('/nowhere');
    assert.ok('ok' in found);
    assert.match(found.reason, /bubblewrap is not installed/);
    assert.match(found.hint, /apt-get install bubblewrap/);
  });
});

describe('explainFailure', () => {
  it('knows what bubblewrap says, and repeats what it does not know', () => {
    assert.match(explainFailure('bwrap: Unknown option --disable-userns').reason, /older than 0.8/);
    assert.match(explainFailure('bwrap: setting up uid map: Permission denied').reason, /user namespaces/);
    assert.match(
      explainFailure('bwrap: Creating new namespace failed: Operation not permitted').reason,
      /user namespaces/,
    );
    assert.match(
      explainFailure("bwrap: Can't mount proc on /newroot/proc: Operation not permitted").reason,
      /proc/,
    );
    const readOnly = 'bwrap: cannot open /proc/sys/user/max_user_namespaces: Read-only file system';
    for (const complaint of [readOnly, 'bwrap: pivot_root: Operation not permitted'])
      assert.match(explainFailure(complaint).hint, /seccomp=unconfined .*systempaths=unconfined/);
    assert.match(explainFailure('bwrap: something new').reason, /something new/);
    assert.match(explainFailure('').reason, /no reason was given/);
  });
});
