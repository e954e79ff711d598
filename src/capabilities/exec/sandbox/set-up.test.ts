// Owns: that a sandbox which cannot be set up is an end with what was complained about, never a wait.
// Refuses: to need a machine on which it cannot: the program in the place of bubblewrap fails as that would.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startKeeper } from './engine.ts';
import { execute } from './execute.ts';
import { resolveLimits } from './limits.ts';
import { textOf } from './probes.ts';
import { createScratch, removeScratch } from './scratch.ts';
import { openSlot } from './slot.ts';

describe('execute', () => {
  it('ends although what bubblewrap started outlives it', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'haft-set-up-'));
    const scratch = createScratch([])!;
    const bwrap = join(folder, 'bwrap');
    writeFileSync(
      bwrap,
      `#!/bin/sh\nsleep 1000 &\necho $! >'${folder}/left'\necho "bwrap: setting up uid map: no" >&2\nexit 1\n`,
    );
    chmodSync(bwrap, 0o755);
    const keeper = await startKeeper({
      ...{ shell: '/bin/sh', bash: undefined, mounts: false, drop: '', groups: [] },
      scratch,
    });
    assert.ok(keeper);
    try {
      const slot = await openSlot({ keeper, scratch, id: 1, bwrap, owner: undefined, cgroup: undefined });
      assert.ok(slot);
      const execution = execute({
        ...{ slot, profile: [], setting: [], argv: ['true'], single: false, mountsSeen: '' },
        ...{ spec: {}, limits: resolveLimits(undefined), workspace: folder, stdin: false, handOver: false },
        inspect: () => assert.fail('there is nothing to look at'),
      });
      const { began, end, stderr } = await execution.ended;
      assert.deepEqual([began, end.ran], [false, false]);
      assert.match(textOf(stderr), /setting up uid map/);
      assert.equal(await execution.streams, undefined);
      await execution.released;
      assert.equal(slot.dead, true);
    } finally {
      process.kill(Number(readFileSync(join(folder, 'left'), 'utf8')), 'SIGKILL');
      await keeper.close();
      removeScratch(scratch);
      rmSync(folder, { recursive: true });
    }
  });
});
