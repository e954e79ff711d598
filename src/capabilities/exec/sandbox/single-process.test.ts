// Owns: programs that may not start others, tried as every user that the sandbox can run as.
// Refuses: to stand for CPUs that this machine does not have; their file is only held to its shape.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { identities, withSandbox } from './sandbox-fixture.ts';
import { singleProcessProgram } from './single-process.ts';

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
