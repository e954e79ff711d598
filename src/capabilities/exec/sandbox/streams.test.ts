// Owns: what goes into a program and what comes out of it: whole, in order, and never confused with another's.
// Refuses: to test limits and endings; `limits.test.ts` and `lifecycle.test.ts` do.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isFailure } from '../../../contract/errors.ts';
import { identities, textOf, withSandbox } from './probes.ts';

for (const identity of identities()) {
  describe(`streams (${identity})`, () => {
    it('carry input of any size and end it', async () => {
      await withSandbox({ identity }, async ({ sh }) => {
        assert.equal((await sh('wc -c')).out, '0\n');
        assert.equal((await sh('cat', { stdin: 'héllo' })).out, 'héllo');
        assert.equal((await sh('wc -c', { stdin: new Uint8Array(5_000_000) })).out, '5000000\n');
        async function* slowly() {
          for (const word of ['one ', 'two ', 'three']) {
            await new Promise((resolve) => setImmediate(resolve));
            yield Buffer.from(word);
          }
        }
        assert.equal((await sh('cat', { stdin: slowly() })).out, 'one two three');
        assert.equal((await sh('head -c 3', { stdin: 'x'.repeat(1_000_000) })).out, 'xxx');
        assert.equal((await sh('exec <&-; echo done', { stdin: 'x'.repeat(1_000_000) })).out, 'done\n');
      });
    });

    it('can be opened by name, as scripts do', async () => {
      await withSandbox({ identity }, async ({ sh }) => {
        const result = await sh(
          'cat /dev/stdin > /dev/stdout; echo e > /dev/stderr; echo p > /proc/self/fd/1',
          { stdin: 'in\n' },
        );
        assert.deepEqual([result.out, result.err], ['in\np\n', 'e\n']);
      });
    });

    it('of a started program go both ways until it ends', async () => {
      await withSandbox({ identity }, async ({ sandbox }) => {
        const program = await sandbox.start({
          argv: ['sh', '-c', 'while read -r line; do echo "got $line"; done; echo bye; echo why >&2; exit 4'],
          env: sandbox.baseEnv,
        });
        program.stdin.write('one\n');
        assert.equal(String((await once(program.stdout, 'data'))[0]), 'got one\n');
        program.stdin.write('two\n');
        assert.equal(String((await once(program.stdout, 'data'))[0]), 'got two\n');
        program.stdin.end();
        assert.equal(String((await once(program.stdout, 'data'))[0]), 'bye\n');
        const result = await program.result;
        assert.deepEqual([result.code, textOf(result.stderr), result.stdout.length], [4, 'why\n', 0]);
      });
    });
  });
}

describe('streams', () => {
  it('are given to onOutput whole and in order, as fast as it takes them', async () => {
    await withSandbox({}, async ({ sh }) => {
      let seen = '';
      let open = 0;
      const result = await sh('seq 1 40000', {
        captureBytes: 10,
        async onOutput(stream, chunk) {
          assert.equal(stream, 'stdout');
          assert.equal(++open, 1);
          await new Promise((resolve) => setImmediate(resolve));
          seen += textOf(chunk);
          open--;
        },
      });
      assert.equal(result.out, '1\n2\n3\n4\n5\n');
      assert.equal(seen, `${Array.from({ length: 40000 }, (_, i) => i + 1).join('\n')}\n`);
    });
  });

  it('end the program when onOutput fails, with that failure', async () => {
    await withSandbox({}, async ({ sh }) => {
      const faults = [
        () => {
          throw new Error('full');
        },
        () => Promise.reject(new Error('full')),
      ];
      for (const onOutput of faults) await assert.rejects(sh('yes', { onOutput }), /full/);
      assert.equal((await sh('echo fine')).out, 'fine\n');
    });
  });

  it('cannot pass for the messages of the sandbox', async () => {
    await withSandbox({}, async ({ sh }) => {
      const forged = 'D 0\\n{ "exit-code": 0 }\\nS\\nR 1\\n';
      const result = await sh(
        `printf '${forged}'; printf '${forged}' >&2; printf '${forged}' >&3; ls -l /proc/1/fd; exit 9`,
      );
      assert.equal(result.code, 9);
      assert.match(result.out, /^D 0\n/);
      assert.doesNotMatch(result.out, /status|cmd/);
      assert.match(result.err, /Bad file descriptor|bad fd/i);
    });
  });

  it('of one program do not depend on what an earlier one did to its own', async () => {
    await withSandbox({ concurrency: 1 }, async ({ sh }) => {
      const nonBlocking = `perl -e 'use Fcntl; fcntl(STDOUT, F_SETFL, O_NONBLOCK); fcntl(STDOUT, 1031, 4096); print "x"'`;
      assert.equal((await sh(nonBlocking)).out, 'x');
      assert.equal((await sh('seq 1 100000 | wc -l; seq 1 100000 | tail -1')).out, '100000\n100000\n');
    });
  });

  it('does not let a program begin before what it awaits has happened, nor at all where that fails', async () => {
    await withSandbox({}, async ({ sandbox, sh, workspace }) => {
      const made = join(workspace, 'made');
      const seen = Promise.withResolvers<boolean>();
      const running = sh('echo x >made', { awaits: seen.promise });
      while (!isWaiting('echo x >made')) await new Promise((resolve) => setImmediate(resolve));
      seen.resolve(existsSync(made));
      assert.equal((await running).code, 0);
      assert.equal(await seen.promise, false);
      assert.ok(existsSync(made));

      const spec = { argv: ['touch', 'never'], env: sandbox.baseEnv } as const;
      const fails = () => ({ ...spec, awaits: Promise.reject(new Error('the disk is full')) });
      await assert.rejects(sandbox.run(fails()), /the disk is full/);
      await assert.rejects(sandbox.start(fails()), /the disk is full/);
      assert.ok(!existsSync(join(workspace, 'never')));
      assert.equal((await sh('echo next')).out, 'next\n');
    });
  });

  it('start rejects with a failure of the table', async () => {
    await withSandbox({}, async ({ sandbox }) => {
      const rejected = sandbox.start({ argv: ['true'], env: sandbox.baseEnv, cwd: '..' });
      await assert.rejects(
        rejected,
        (thrown) => isFailure(thrown) && thrown.reason === 'path.outside_workspace',
      );
    });
  });

  it('of a started program are released when it is stopped', async () => {
    await withSandbox({}, async ({ sandbox }) => {
      const program = await sandbox.start({ argv: ['cat'], env: sandbox.baseEnv });
      program.stdout.resume();
      const result = await program.stop();
      assert.equal(result.signal, 'SIGTERM');
      assert.equal(program.stdin.destroyed, true);
    });
  });
});

/** Whether the first process of a sandbox is there whose program this is. */
const isWaiting = (line: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return /sh$/.test(words[0]!) && words.includes('haft') && words.includes(line);
    } catch {
      return false;
    }
  });
