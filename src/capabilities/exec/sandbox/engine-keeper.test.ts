// Owns: that the keeper gets no descriptor that whoever started this process left open, and is not waited for without end.
// Refuses: the rest of a keeper's life; `lifecycle.test.ts` has it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Keeper, startKeeper } from './engine.ts';
import { createScratch, removeScratch } from './scratch.ts';

/** For a keeper that is waited for without end; no measure of anything. */
const LIMIT = { timeout: 120_000 };

describe('startKeeper', () => {
  for (const bash of ['/bin/bash', undefined]) {
    it(`hands nothing down that was left open, ${bash ? 'with' : 'without'} a shell that can close it`, () => {
      const folder = mkdtempSync(join(tmpdir(), 'haft-keeper-'));
      try {
        writeFileSync(join(folder, 'left-open'), 'x');
        const code = `
          import { startKeeper } from ${JSON.stringify(join(import.meta.dirname, 'engine.ts'))};
          import { createScratch } from ${JSON.stringify(join(import.meta.dirname, 'scratch.ts'))};
          import { readFileSync } from 'node:fs';
          const scratch = createScratch([]);
          const keeper = await startKeeper({
            shell: '/bin/sh', bash: ${JSON.stringify(bash)}, scratch, mounts: false, drop: '', groups: [],
          });
          const file = ${JSON.stringify(join(folder, 'found'))};
          await keeper.ask("ls -l /proc/$$/fd >'" + file + "'; echo ok");
          await keeper.close();
          process.stdout.write(readFileSync(file));`;
        const run = spawnSync(
          'bash',
          ['-c', 'exec 21<"$0"; exec "$@"', join(folder, 'left-open')].concat(
            process.execPath,
            '--input-type=module-typescript',
            '-e',
            code,
          ),
          { encoding: 'utf8' },
        );
        assert.equal(run.status, 0, run.stderr);
        assert.match(run.stdout, / 1 -> /);
        assert.doesNotMatch(run.stdout, /left-open/);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }

  it('gives up on one that never says that it is ready', LIMIT, async () => {
    await withShell('exec sleep 1000', async (shell, scratch) => {
      assert.equal(await startKeeper({ ...PLAIN, shell, scratch, answerMs: 200 }), undefined);
    });
  });

  it('gives up on one that does not answer, with everything that it waits for', LIMIT, async () => {
    await withKeeper(async (keeper, scratch) => {
      const answers = [keeper.ask('sleep 1000; echo late'), keeper.ask('echo never')];
      assert.deepEqual(await Promise.all(answers), [false, false]);
      assert.equal(keeper.gone, true);
      assert.match(keeper.complaints(), /did not answer within 3 s/);
      assert.equal(existsSync(`/proc/${keeper.pid}`), false);
      await keeper.close();
      removeScratch(scratch);
      assert.equal(existsSync(scratch), false);
    });
  });

  it('is closed although it cannot end', LIMIT, async () => {
    await withKeeper(async (keeper) => {
      assert.equal(await keeper.ask('wait() { sleep 1000; }; echo ok'), true);
      await keeper.close();
      assert.equal(existsSync(`/proc/${keeper.pid}`), false);
      assert.match(keeper.complaints(), /did not end within 3 s/);
    });
  });
});

const PLAIN = { shell: '/bin/sh', bash: '/bin/bash', mounts: false, drop: '', groups: [] };

async function withShell(line: string, use: (shell: string, scratch: string) => Promise<void>) {
  const scratch = createScratch([])!;
  const folder = mkdtempSync(join(tmpdir(), 'haft-keeper-'));
  try {
    const shell = join(folder, 'shell');
    writeFileSync(shell, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    await use(shell, scratch);
  } finally {
    rmSync(folder, { recursive: true });
    removeScratch(scratch);
  }
}

const withKeeper = (use: (keeper: Keeper, scratch: string) => Promise<void>) =>
  withShell('', async (_, scratch) => {
    const keeper = await startKeeper({ ...PLAIN, scratch, answerMs: 3_000 });
    assert.ok(keeper);
    await use(keeper, scratch);
  });
