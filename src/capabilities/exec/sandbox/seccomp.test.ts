// Owns: that the filter is well formed for every CPU that it is made for, and answers as its tables say.
// Refuses: to stand for the kernel; `escape.test.ts` tries the loaded filter for real.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { identities, withSandbox } from './probes.ts';
import { seccompFilter, singleProcessProgram } from './seccomp.ts';

const ALLOW = 0x7fff0000;
const errno = (n: number) => 0x00050000 | n;

interface Call {
  readonly nr: number;
  readonly arch?: number;
  readonly args?: readonly number[];
}

describe('seccompFilter', () => {
  const x64 = (nr: number, ...args: number[]) => verdict('x64', { nr, arch: 0xc000003e, args });
  const arm64 = (nr: number, ...args: number[]) => verdict('arm64', { nr, arch: 0xc00000b7, args });

  it('refuses set-id bits wherever a mode can be given, and nothing else about modes', () => {
    assert.equal(x64(90, 0, 0o4755), errno(1), 'chmod');
    assert.equal(x64(90, 0, 0o755), ALLOW);
    assert.equal(x64(91, 0, 0o2755), errno(1), 'fchmod');
    assert.equal(x64(268, 0, 0, 0o6000), errno(1), 'fchmodat');
    assert.equal(x64(452, 0, 0, 0o4000), errno(1), 'fchmodat2');
    assert.equal(x64(257, 0, 0, 0o101, 0o4755), errno(1), 'openat that creates');
    assert.equal(x64(257, 0, 0, 0o101, 0o644), ALLOW);
    assert.equal(
      x64(257, 0, 0, 0o1, 0o4755),
      ALLOW,
      'without O_CREAT the mode is whatever the register held',
    );
    assert.equal(x64(2, 0, 0o20200001, 0o4755), errno(1), 'open with O_TMPFILE');
    assert.equal(x64(2, 0, 0o200000, 0o4755), ALLOW, 'O_DIRECTORY alone creates nothing');
    assert.equal(x64(85, 0, 0o4755), errno(1), 'creat');
    assert.equal(x64(133, 0, 0o104755), errno(1), 'mknod');
    assert.equal(arm64(53, 0, 0, 0o4755), errno(1), 'fchmodat');
    assert.equal(arm64(56, 0, 0, 0o100, 0o4755), errno(1), 'openat');
  });

  it('lets only ordinary sockets through', () => {
    for (const family of [1, 2, 10, 16]) assert.equal(x64(41, family), ALLOW);
    for (const family of [0, 17, 38, 40]) assert.equal(x64(41, family), errno(97));
    assert.equal(arm64(198, 40), errno(97));
    assert.equal(x64(53, 1), ALLOW, 'socketpair');
  });

  it('refuses mounts, namespaces and what could hide them', () => {
    for (const nr of [165, 166, 155, 272, 308, 428, 429, 442, 250, 321])
      assert.equal(x64(nr), errno(1), String(nr));
    for (const nr of [425, 426, 427, 435, 437]) assert.equal(x64(nr), errno(38), String(nr));
    for (const nr of [40, 39, 41, 97, 268]) assert.equal(arm64(nr), errno(1), String(nr));
    assert.equal(x64(56, 0x10000000), errno(1), 'clone with CLONE_NEWUSER');
    assert.equal(x64(56, 0x11), ALLOW, 'fork');
    assert.equal(x64(16, 0, 0x5412), errno(1), 'TIOCSTI');
    assert.equal(x64(16, 0, 0x541c), errno(1), 'TIOCLINUX');
    assert.equal(x64(16, 0, 0x5401), ALLOW);
    assert.equal(x64(59), ALLOW, 'execve');
  });

  it('refuses calls of other conventions', () => {
    assert.equal(verdict('x64', { nr: 15, arch: 0x40000003 }), errno(38), 'i386');
    assert.equal(x64(0x40000000 | 90, 0, 0), errno(38), 'x32');
  });

  it('does not exist for CPUs whose numbers it does not know', () => {
    assert.equal(seccompFilter('mips'), undefined);
  });
});

/** Runs the filter as the kernel would. */
function verdict(cpu: string, call: Call): number {
  const filter = seccompFilter(cpu)!;
  const view = new DataView(filter.buffer);
  let a = 0;
  for (let pc = 0; pc < filter.length / 8; pc++) {
    const code = view.getUint16(pc * 8, true);
    const yes = view.getUint8(pc * 8 + 2);
    const no = view.getUint8(pc * 8 + 3);
    const k = view.getUint32(pc * 8 + 4, true);
    const jump = (condition: boolean) => {
      pc += condition ? yes : no;
    };
    if (code === 0x20) a = load(call, k);
    else if (code === 0x15) jump(a === k);
    else if (code === 0x35) jump(a >= k);
    else if (code === 0x45) jump((a & k) !== 0);
    else if (code === 0x06) return k;
    else assert.fail(`instruction ${code}`);
  }
  return assert.fail('it runs off its end');
}

function load(call: Call, offset: number): number {
  if (offset === 0) return call.nr >>> 0;
  if (offset === 4) return call.arch ?? 0;
  return call.args?.[(offset - 16) / 8] ?? 0;
}

for (const identity of identities()) {
  describe(`a program that may not spawn (${identity})`, () => {
    it('runs, is looked up on the PATH, and has its arguments, its environment and its stdin', async () => {
      await withSandbox({ identity }, async ({ sandbox }) => {
        const result = await sandbox.run({
          argv: ['perl', '-e', 'print "@ARGV $ENV{X} ", <STDIN>; exit 3', 'a b', '-v', '--'],
          env: { ...sandbox.baseEnv, X: 'y' },
          stdin: 'z',
          spawns: false,
        });
        assert.deepEqual([Buffer.from(result.stdout).toString(), result.code], ['a b -v -- y z', 3]);
      });
    });

    it('cannot fork, vfork or spawn, and can have threads', async () => {
      await withSandbox({ identity }, async ({ sandbox }) => {
        const code = [
          'import os, subprocess, threading, ctypes',
          'def tried(what):',
          '  try: return what()',
          '  except OSError as e: return e.errno',
          'seen = []',
          't = threading.Thread(target=lambda: seen.append("thread")); t.start(); t.join()',
          'seen += [tried(os.fork), tried(lambda: subprocess.run(["true"])), tried(lambda: os.posix_spawn("/bin/true", ["true"], {}))]',
          // 127, in the upper byte: the shell could not be started.
          'seen.append(tried(lambda: os.system("exit 7")))',
          'seen.append(ctypes.CDLL(None, use_errno=True).vfork())',
          'print(seen)',
        ].join('\n');
        const run = (spawns: boolean) =>
          sandbox.run({ argv: ['python3', '-c', code], env: sandbox.baseEnv, spawns });
        const { stdout, stderr } = await run(false);
        assert.equal(
          Buffer.from(stdout).toString(),
          "['thread', 1, 1, 1, 32512, -1]\n",
          Buffer.from(stderr).toString(),
        );
        assert.match(Buffer.from((await run(true)).stdout).toString(), /'thread', \d{1,}, CompletedProcess/);
      });
    });

    it('cannot spawn either where it has a network, whose forwarder was started before it', async () => {
      await withSandbox({ identity }, async ({ sandbox }) => {
        const result = await sandbox.run({
          argv: ['python3', '-c', 'import os; print(os.environ["http_proxy"]); os.fork()'],
          env: sandbox.baseEnv,
          network: { proxy: { host: '127.0.0.1', port: 9 } },
          spawns: false,
        });
        assert.equal(Buffer.from(result.stdout).toString(), 'http://127.0.0.1:3128\n');
        assert.match(Buffer.from(result.stderr).toString(), /PermissionError/);
      });
    });

    it('is refused where its name would be read as a variable', async () => {
      await withSandbox({ identity }, async ({ sandbox }) => {
        const result = await sandbox.run({ argv: ['a=b'], env: sandbox.baseEnv, spawns: false });
        assert.equal(result.refused?.reason, 'shell.failed');
      });
    });
  });
}

describe('singleProcessProgram', () => {
  it('is an executable for each CPU that the sandbox knows, and for no other', () => {
    for (const [arch, machine] of [
      ['x64', 62],
      ['arm64', 183],
    ] as const) {
      const file = Buffer.from(singleProcessProgram(arch)!);
      assert.equal(file.toString('latin1', 0, 4), '\x7fELF');
      assert.equal(file.readUInt16LE(18), machine);
      assert.equal(file.readBigUInt64LE(96), BigInt(file.length));
    }
    assert.equal(singleProcessProgram('mips'), undefined);
  });
});
