// Owns: programs that try to use up the machine, as every user that the sandbox can run as.
// Refuses: to measure time; that a bomb is contained shows in how it ended and in what was left.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { identities, withSandbox } from './probes.ts';

const MIB = 2 ** 20;
/** Far above what any of these needs to be stopped; reaching it is a failure. */
const timeoutMs = 60_000;

for (const identity of identities()) {
  describe(`limits (${identity})`, () => {
    it('end a fork bomb', async () => {
      await withSandbox({ identity }, async ({ sh }) => {
        const result = await sh('b() { b | b & }; b; sleep 3', { timeoutMs, limits: { processes: 40 } });
        // Only cgroups count refused forks; without them the kernel still refuses, and the bomb goes out by itself.
        assert.ok(result.limitHit === 'processes' || /fork/i.test(result.err), result.err.slice(0, 300));
        assert.equal(result.timedOut, false);
        assert.equal((await sh('echo alive')).out, 'alive\n');
      });
    });

    it('end a memory bomb, in one process or in many', async () => {
      await withSandbox({ identity }, async ({ sandbox, sh }) => {
        const eat = (mib: number) =>
          ['perl', '-e', `my @a; push @a, "x" x ${MIB} for 1..${mib}; sleep 60`] as [string, ...string[]];
        const limits = { memoryBytes: 96 * MIB };
        const one = await sandbox.run({ argv: eat(4000), env: sandbox.baseEnv, timeoutMs, limits });
        // Without cgroups the kernel refuses the memory itself, and the program gives up.
        assert.ok(one.limitHit === 'memory' || (one.code ?? 0) !== 0, JSON.stringify(one.limitHit));
        assert.equal(one.timedOut, false);
        const many = await sh(
          `for i in 1 2 3 4 5 6; do perl -e 'my $a = "x" x (40 * ${MIB}); sleep 60' & done; wait`,
          { timeoutMs, limits },
        );
        assert.equal(many.limitHit, 'memory');
      });
    });

    it('end a program that fills the disk', async () => {
      await withSandbox({ identity }, async ({ sh, workspace }) => {
        const result = await sh(
          'i=0; while :; do head -c 4194304 /dev/zero > f$i; i=$((i+1)); [ $i -gt 2000 ] && sleep 60; done',
          {
            timeoutMs,
            limits: { bytesWritten: 32 * MIB },
          },
        );
        assert.equal(result.limitHit, 'bytes_written');
        assert.equal(statSync(join(workspace, 'f0')).size, 4 * MIB);
      });
    });

    it('end a program whose file grows too big', async () => {
      await withSandbox({ identity }, async ({ sh, workspace }) => {
        const result = await sh('exec cat /dev/zero > big', { timeoutMs, limits: { fileSizeBytes: MIB } });
        assert.equal(result.limitHit, 'file_size');
        assert.equal(result.signal, 'SIGXFSZ');
        assert.equal(statSync(join(workspace, 'big')).size, MIB);
      });
    });

    it('end a program that computes for ever, alone or with children', async () => {
      await withSandbox({ identity }, async ({ sh }) => {
        const limits = { cpuSeconds: 1 };
        assert.equal((await sh('while :; do :; done', { timeoutMs, limits })).limitHit, 'cpu');
        assert.equal(
          (await sh('for i in 1 2 3; do while :; do :; done & done; wait', { timeoutMs, limits })).limitHit,
          'cpu',
        );
      });
    });

    it('bound what the private folders hold', async () => {
      await withSandbox({ identity }, async ({ sh }) => {
        const line =
          'for d in /tmp /dev/shm "$HOME"; do head -c 9000000 /dev/zero > $d/f && echo $d; rm -f $d/f; done';
        const result = await sh(line, { limits: { tmpBytes: MIB } });
        assert.equal(result.out, '');
        assert.equal((await sh(line)).out, '/tmp\n/dev/shm\n/home/haft\n');
      });
    });
  });
}

describe('limits', () => {
  it('end endless output, and without such a limit keep only what fits', async () => {
    await withSandbox({}, async ({ sandbox, sh }) => {
      const ended = await sandbox.run({
        argv: ['yes'],
        env: sandbox.baseEnv,
        timeoutMs,
        limits: { outputBytes: MIB },
      });
      assert.equal(ended.limitHit, 'output');
      const kept = await sh('yes | head -c 3000000; echo e >&2', { captureBytes: 1000 });
      assert.equal(kept.code, 0);
      assert.equal(kept.stdout.length, 1000);
      assert.deepEqual(kept.truncated, { stdout: true, stderr: false });
    });
  });

  it('below or at zero are refused', async () => {
    await withSandbox({}, async ({ sh }) => {
      for (const limits of [{ memoryBytes: 0 }, { processes: -1 }, { cpuSeconds: Number.NaN }]) {
        assert.equal((await sh('true', { limits })).refused?.reason, 'shell.failed');
      }
    });
  });

  it('hold for descriptors', async () => {
    await withSandbox({}, async ({ sh }) => {
      assert.equal((await sh('ulimit -n', { limits: { openFiles: 77 } })).out, '77\n');
    });
  });
});
