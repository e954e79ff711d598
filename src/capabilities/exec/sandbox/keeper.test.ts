// Owns: that the keeper, and so everything below it, gets no descriptor that whoever started this process left open.
// Refuses: the rest of a keeper's life; `lifecycle.test.ts` has it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';

describe('startKeeper', () => {
  for (const bash of ['/bin/bash', undefined]) {
    it(`hands nothing down that was left open, ${bash ? 'with' : 'without'} a shell that can close it`, () => {
      const folder = mkdtempSync(join(tmpdir(), 'haft-keeper-'));
      try {
        writeFileSync(join(folder, 'left-open'), 'x');
        const code = `
          import { startKeeper } from ${JSON.stringify(join(import.meta.dirname, 'keeper.ts'))};
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
});
