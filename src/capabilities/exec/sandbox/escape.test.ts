// Owns: real attempts to get out of the sandbox, as every user that it can run as.
// Refuses: to trust that an attempt failed because it printed an error; what it would have changed is looked at.
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { identities, withSandbox } from './probes.ts';

/** Perl is there wherever Debian is, and speaks raw system calls. */
const perl = (code: string) => ['perl', '-e', code] as [string, ...string[]];

/** Each must end with a code other than 0. */
const MUST_FAIL: Readonly<Record<string, string>> = {
  'mounts a tmpfs': 'mount -t tmpfs x /tmp',
  'binds a folder': 'mount --bind /usr /tmp',
  'remounts / writable': 'mount -o remount,rw,bind /',
  'remounts /usr writable': 'mount -o remount,rw,bind /usr',
  'remounts /proc writable': 'mount -o remount,rw /proc',
  'unmounts /proc': 'umount /proc',
  'unmounts the mask of .haft': 'umount .haft',
  'makes a user namespace': 'unshare -U true',
  'makes a mount namespace': 'unshare -m true',
  'makes a user and a mount namespace': 'unshare -Urm true',
  'makes a network namespace': 'unshare -n true',
  'enters the namespaces of process 1': 'nsenter -t 1 -m -U true',
  'makes a device': 'mknod -m 666 /tmp/disk b 8 0',
  'makes a device in the workspace': 'mknod disk b 254 0',
  'becomes root by su': 'echo | su root -c true',
  'becomes root by a program': 'setpriv --reuid 0 true',
  'changes root': 'chroot / true',
  'gives a file away': 'echo > f && chown 0:0 f',
  'makes a set-user-ID file': 'cp /bin/true t && chmod u+s t',
  'makes a set-group-ID file': 'cp /bin/true t && chmod g+s t',
  'creates a file with the set-user-ID bit': `perl -e 'sysopen(F, "t", 0101, 04755) or exit 1'`,
  'writes to a sysctl': 'echo core > /proc/sys/kernel/core_pattern',
  'writes to /usr': 'touch /usr/x',
  'writes to /etc': 'touch /etc/x',
  'writes to /': 'touch /x',
  'writes to /dev': 'touch /dev/x',
  'reads the accounts': 'cat /etc/shadow',
  'reads the home of root': 'ls /root/.*',
  'reads kernel messages': 'dmesg || cat /proc/kmsg',
  'reads kernel memory': 'head -c1 /proc/kcore || head -c1 /dev/mem',
  'triggers a reboot by sysrq': 'echo b > /proc/sysrq-trigger',
  'sees sysfs': 'ls /sys/kernel',
  'sees the cgroups': 'ls /sys/fs/cgroup',
  'sees run sockets': 'ls /run/* /var/run/*',
  'talks to docker': 'ls /var/run/docker.sock /run/docker.sock',
  'opens a virtual machine socket': `perl -e 'socket(S, 40, 1, 0) or exit 1'`,
  'opens a packet socket': `perl -e 'socket(S, 17, 3, 0) or exit 1'`,
  'resolves a name': 'getent hosts example.org',
  'raises its descriptor limit': 'ulimit -H -n 1000000',
  'lowers its nice value': `nice -n -5 sh -c '[ "$(nice)" -lt '"$(nice)"' ]'`,
  'writes haft.yaml': 'echo "shell_allow: [x]" > haft.yaml',
  'replaces haft.yaml': 'echo x > n && mv -f n haft.yaml',
  'removes haft.yaml': 'rm -f haft.yaml && [ ! -e haft.yaml ]',
  'renames haft.yaml': 'mv haft.yaml other',
  'links haft.yaml': 'ln haft.yaml other',
  'writes haft.lock': 'echo x >> haft.lock',
  'changes the mode of haft.yaml': 'chmod 777 haft.yaml',
  'finds something in .haft': '[ -n "$(ls -A .haft)" ]',
  'reads within .haft': 'cat .haft/haft.db',
  'writes within .haft': 'touch .haft/x',
  'renames .haft': 'mv .haft other',
  'opens .haft up': 'chmod 777 .haft',
  'writes a git hook': 'echo x > .git/hooks/pre-commit',
  'writes the git config': 'git config core.fsmonitor "touch pwned"',
  'removes the git folder': 'rm -rf .git; [ ! -e .git/config ]',
  'renames the git folder': 'mv .git other',
  'writes in a pack': 'echo x > packs/own/a.tool.yaml',
  'renames the folder that holds a pack': 'mv packs other',
  'removes the folder that holds a pack': 'rm -rf packs; [ ! -e packs/own/a.tool.yaml ]',
};

const FILES = {
  'haft.yaml': 'version: 1\n',
  'haft.lock': '{}\n',
  '.haft/haft.db': 'secret state',
  '.git/config': '[core]\n',
  '.git/hooks/': '',
  'packs/own/a.tool.yaml': 'id: a.b\n',
  'src/secret.env': 'KEY=secret-value\n',
  '.env': 'KEY=secret-value\n',
};

for (const identity of identities()) {
  describe(`a sandboxed program (${identity})`, () => {
    it('fails at everything that would lead out, and changes nothing', async () => {
      await withSandbox(
        { identity, files: FILES, readOnly: ['packs/own'] },
        async ({ sh, workspace, sandbox }) => {
          const available = await sandbox.available();
          assert.equal(available.ok && available.observed.identity, identity, JSON.stringify(available));
          const before = snapshot(workspace);
          const got = await Promise.all(
            Object.entries(MUST_FAIL).map(async ([name, line]) => {
              const result = await sh(line);
              return result.refused || result.code === 0
                ? `${name}: ${line} → ${JSON.stringify(result.refused ?? result.out)}`
                : '';
            }),
          );
          assert.deepEqual(got.filter(Boolean), []);
          assert.deepEqual(snapshot(workspace), before);
          assert.equal(existsSync(join(workspace, 'pwned')), false);
          for (const name of ['t', 'disk']) {
            const stat = statSync(join(workspace, name), { throwIfNoEntry: false });
            assert.equal((stat?.mode ?? 0) & 0o6000, 0, name);
            assert.notEqual(stat?.isBlockDevice(), true);
          }
        },
      );
    });

    it('cannot read a hidden file or folder, nor free their names', async () => {
      await withSandbox(
        { identity, files: { ...FILES, 'keys/id': 'secret-value' } },
        async ({ sh, workspace }) => {
          const hidden = ['.env', 'src/secret.env', 'keys'];
          const seen = await sh(
            'cat .env; cat src/secret.env; cat keys/id; ls keys; mv src other; cp .env c; ln .env l',
            { hidden },
          );
          assert.doesNotMatch(seen.out + seen.err, /secret-value/);
          assert.equal(readFileSync(join(workspace, 'src/secret.env'), 'utf8'), 'KEY=secret-value\n');
          assert.equal((await sh('cat .env')).out, 'KEY=secret-value\n');
        },
      );
    });

    it('writes files that belong to the owner of the workspace', async () => {
      await withSandbox({ identity, files: { 'old.txt': 'old\n' } }, async ({ sh, workspace }) => {
        const result = await sh(
          'echo new >> old.txt && mkdir d && echo x > d/x && ln -s x d/l && mkfifo d/p && chmod 750 d && id -u',
        );
        assert.equal(result.code, 0, result.err);
        assert.equal(result.out, '1000\n');
        const owner = statSync(workspace);
        for (const name of ['old.txt', 'd', 'd/x']) {
          const { uid, gid } = statSync(join(workspace, name));
          assert.deepEqual([uid, gid], [owner.uid, owner.gid], name);
        }
        assert.equal(readFileSync(join(workspace, 'old.txt'), 'utf8'), 'old\nnew\n');
      });
    });

    it('is not root outside unless nothing else can be had', async () => {
      await withSandbox({ identity }, async ({ sandbox }) => {
        const program = await sandbox.start({ argv: ['sleep', '60'], env: sandbox.baseEnv });
        const available = await sandbox.available();
        assert.ok(available.ok);
        assert.equal(available.observed.uid === 0, identity === 'bare_root');
        await program.stop(0);
      });
    });

    it('sees no process, file or socket of the machine', async () => {
      const outside = mkdtempSync(join(tmpdir(), 'haft-outside-'));
      const abstract = `haft-test-${process.pid}`;
      const server = createServer().listen(`\0${abstract}`);
      const tcp = createServer().listen(0, '127.0.0.1');
      writeFileSync(join(outside, 'secret'), 'secret-value');
      chmodSync(outside, 0o777);
      try {
        await withSandbox({ identity }, async ({ sh, sandbox, workspace }) => {
          symlinkSync(join(outside, 'secret'), join(workspace, 'link'));
          symlinkSync(outside, join(workspace, 'folder'));
          const files = await sh(
            `cat link folder/secret ${outside}/secret /proc/1/root${outside}/secret /proc/self/root${outside}/secret /proc/1/cwd/../../..${outside}/secret; ` +
              `ln ${outside}/secret hard; echo x > folder/new; ls -d /proc/[0-9]* | wc -l; kill -9 ${process.pid}; kill -0 ${process.ppid}`,
          );
          assert.doesNotMatch(files.out, /secret-value/);
          assert.ok(Number(files.out) < 8, files.out);
          assert.notEqual(files.code, 0);
          assert.deepEqual(snapshot(outside), { secret: 'secret-value' });
          const port = (tcp.address() as { port: number }).port;
          const sockets = await sandbox.run({
            argv: perl(
              `use Socket; socket(my $u, AF_UNIX, SOCK_STREAM, 0); print "abstract\\n" if connect($u, pack_sockaddr_un("\\0${abstract}"));` +
                `socket(my $t, AF_INET, SOCK_STREAM, 0); print "tcp\\n" if connect($t, pack_sockaddr_in(${port}, inet_aton("127.0.0.1")));` +
                `socket(my $n, AF_INET, SOCK_STREAM, 0); print "net\\n" if connect($n, pack_sockaddr_in(53, pack("C4", 8, 8, 8, 8)));` +
                `open(F, "/proc/net/dev"); while (<F>) { print "interface $1\\n" if /^\\s*(\\w+):/ }`,
            ),
            env: sandbox.baseEnv,
          });
          assert.equal(Buffer.from(sockets.stdout).toString(), 'interface lo\n');
          rmSync(join(workspace, 'folder'));
        });
      } finally {
        server.close();
        tcp.close();
        rmSync(outside, { recursive: true });
      }
    });

    it('cannot trace, and cannot get capabilities or new privileges', async () => {
      await withSandbox({ identity }, async ({ sandbox, sh }) => {
        // PTRACE_ATTACH to a process that only exists outside, and to process 1 of the sandbox to escape through it.
        const trace = await sandbox.run({
          argv: perl(
            `my $r = syscall(${process.arch === 'x64' ? 101 : 117}, 16, ${process.pid}, 0, 0); print $r`,
          ),
          env: sandbox.baseEnv,
        });
        assert.equal(Buffer.from(trace.stdout).toString(), '-1');
        const status = await sh('grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status; ls /proc/self/fd');
        assert.doesNotMatch(status.out, /^Cap\w+:\s*0*[1-9a-f]/m);
        assert.match(status.out, /NoNewPrivs:\s*1\nSeccomp:\s*2/);
        assert.match(status.out, /\n0\n1\n2\n3\n$/, 'ls itself has the fourth');
      });
    });

    it('gets exactly the environment that it is given', async () => {
      process.env.HAFT_TEST_SECRET = 'secret-value';
      await withSandbox({ identity }, async ({ sandbox, workspace }) => {
        const env = { PATH: '/usr/bin:/bin', ODD: "a'b\nc$(id)`id`\\", EMPTY: '' };
        const result = await sandbox.run({ argv: ['env', '-0'], env });
        const seen = Buffer.from(result.stdout).toString().split('\0').filter(Boolean).sort();
        assert.deepEqual(
          seen,
          [...Object.entries(env).map(([k, v]) => `${k}=${v}`), `PWD=${workspace}`].sort(),
        );
        assert.doesNotMatch(JSON.stringify(result), /secret-value/);
      });
      delete process.env.HAFT_TEST_SECRET;
    });
  });
}

describe('a sandbox', () => {
  it('refuses binds that would open the machine', async () => {
    await withSandbox({}, async ({ sh, workspace }) => {
      const dir = mkdtempSync(join(tmpdir(), 'haft-bind-'));
      const server = createServer().listen(join(dir, 'docker.sock'));
      await new Promise((resolve) => server.once('listening', resolve));
      const paths = [
        '/',
        '/proc',
        '/proc/1',
        '/sys',
        '/dev',
        '/run',
        '/var/run',
        '/var',
        `${dir}/docker.sock`,
        join(workspace, '.haft'),
        'relative',
        '/nothing/here',
      ];
      for (const path of paths) {
        const { refused } = await sh('true', { binds: [{ path }] });
        assert.match(refused?.reason ?? 'ran', /^path\./, path);
      }
      for (const path of ['/usr', '/usr/local', '/etc']) {
        assert.equal(
          (await sh('true', { binds: [{ path, writable: true }] })).refused?.reason,
          'path.protected',
          path,
        );
      }
      server.close();
      rmSync(dir, { recursive: true });
    });
  });

  it('shows a bind at its own path, read-only unless it is said to be writable', async () => {
    await withSandbox({}, async ({ sh }) => {
      const dir = mkdtempSync(join(tmpdir(), 'haft-bind-'));
      writeFileSync(join(dir, 'a'), 'shown\n');
      const read = await sh(`cat ${dir}/a; echo x > ${dir}/b`, { binds: [{ path: dir }] });
      assert.equal(read.out, 'shown\n');
      assert.equal(existsSync(join(dir, 'b')), false);
      const written = await sh(`echo x > ${dir}/b`, { binds: [{ path: dir, writable: true }] });
      assert.equal(written.code, 0, written.err);
      assert.equal(readFileSync(join(dir, 'b'), 'utf8'), 'x\n');
      rmSync(dir, { recursive: true });
    });
  });

  it('refuses what it could not protect: links and second names', async () => {
    await withSandbox({ files: { 'real.yaml': 'version: 1\n' } }, async ({ sh, workspace }) => {
      symlinkSync('real.yaml', join(workspace, 'haft.yaml'));
      assert.equal((await sh('true')).refused?.reason, 'path.protected');
      rmSync(join(workspace, 'haft.yaml'));
      linkSync(join(workspace, 'real.yaml'), join(workspace, 'haft.yaml'));
      assert.equal((await sh('true')).refused?.reason, 'path.protected');
    });
  });

  it('tells when a protected path appears or is replaced meanwhile', async () => {
    await withSandbox({ files: { 'haft.lock': '{}' } }, async ({ sh }) => {
      assert.deepEqual((await sh('true')).disturbed, []);
      assert.deepEqual((await sh('echo "version: 1" > haft.yaml')).disturbed, ['haft.yaml']);
    });
  });

  it('writes only where it may when paths are named', async () => {
    await withSandbox({ files: { 'out/': '', 'in/a': 'a\n' } }, async ({ sh, workspace }) => {
      const some = await sh('echo x > out/x; echo x > in/x; echo x > x; cat in/a', { writable: ['out'] });
      assert.equal(some.out, 'a\n');
      assert.deepEqual(
        ['out/x', 'in/x', 'x'].map((name) => existsSync(join(workspace, name))),
        [true, false, false],
      );
      await sh('echo x > y; echo x > out/y', { writable: [] });
      assert.deepEqual(
        ['y', 'out/y'].map((name) => existsSync(join(workspace, name))),
        [false, false],
      );
      assert.equal((await sh('true', { writable: ['..'] })).refused?.reason, 'path.outside_workspace');
      assert.equal((await sh('true', { writable: ['missing'] })).refused?.reason, 'path.not_found');
    });
  });

  it('refuses a working folder outside of the workspace', async () => {
    await withSandbox({ files: { 'sub/f': '' } }, async ({ sh, workspace }) => {
      assert.equal((await sh('pwd', { cwd: 'sub' })).out, `${workspace}/sub\n`);
      symlinkSync('/usr', join(workspace, 'link'));
      const reasons = await Promise.all(
        ['..', '/usr', 'link', 'missing', 'sub/f'].map(
          async (cwd) => (await sh('pwd', { cwd })).refused?.reason,
        ),
      );
      assert.deepEqual(reasons, [
        'path.outside_workspace',
        'path.outside_workspace',
        'path.outside_workspace',
        'path.not_found',
        'path.not_directory',
      ]);
    });
  });
});

/** The protected files' content, by name. */
function snapshot(folder: string): Record<string, string> {
  const names = [
    ...Object.keys(FILES).filter((name) => !name.endsWith('/')),
    'secret',
    '.git/hooks/pre-commit',
    '.haft/x',
    'new',
  ];
  return Object.fromEntries(
    names.flatMap((name) =>
      existsSync(join(folder, name)) ? [[name, readFileSync(join(folder, name), 'utf8')]] : [],
    ),
  );
}
