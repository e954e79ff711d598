// Owns: the proof that a failing disk, or a death inside a system call, loses nothing and tears nothing.
// Refuses: simulated faults: strace makes the real system calls fail.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Acknowledged, checkAftermath } from './support/aftermath.ts';
import { amount } from './support/amount.ts';
import { runTraced, strace } from './support/strace.ts';
import { makeWorkspace } from './support/workspace.ts';

const WRITER = join(import.meta.dirname, 'support/writer.ts');

const FAULTS = ['error=EIO', 'error=ENOSPC', 'signal=KILL'] as const;
/** The calls that carry the promise. */
const CALLS = ['fdatasync', 'fsync', 'rename', 'pwrite64', 'write', 'unlink', 'mkdir'] as const;
/** At which of the matching calls the fault strikes; from then on for errors, once for a kill. */
const MOMENTS = [1, 2, 5, 13, 34, 8].slice(0, amount('HAFT_FAULTS', 6, 1));

describe('faults injected at file system calls', { skip: strace.missing, concurrency: 2 }, () => {
  for (const fault of FAULTS) {
    for (const call of CALLS) {
      it(`${fault} at ${call} keeps every promise`, { timeout: 600_000 }, async () => {
        let struck = 0;
        for (const moment of MOMENTS) struck += Number(await strike(call, fault, moment));
        assert.ok(struck > 0, `${call} was never hit: the test proves nothing`);
      });
    }
  }
});

/** Answers whether the fault really struck. */
async function strike(call: string, fault: string, moment: number): Promise<boolean> {
  const workspace = makeWorkspace();
  try {
    // The state is there before the fault, so that the fault meets calls and not the opening only.
    const before = await runTraced(['-e', 'trace=none'], WRITER, [workspace.root, 'before', '2', '6']);
    assert.equal(before.status, 0, before.stderr);
    const when = fault.startsWith('error') ? `${moment}..${moment + 3}` : `${moment}`;
    const inject = `inject=${call}:${fault}:when=${when}`;
    const log = workspace.path('strace.log');
    const ran = await runTraced(['-e', `trace=${call}`, '-e', inject, '-o', log], WRITER, [
      workspace.root,
      `at${moment}`,
      '4',
      '40',
    ]);
    const acks = [...acksOf(before.stdout), ...acksOf(ran.stdout)];
    const aftermath = await checkAftermath(workspace.root, acks);
    assert.ok(aftermath.rows > 0);
    return !ran.stdout.includes('"done":true') || readFileSync(log, 'utf8').includes('INJECTED');
  } catch (thrown) {
    throw new Error(`${fault} at ${call} number ${moment}: ${(thrown as Error).message}`, { cause: thrown });
  } finally {
    workspace.remove();
  }
}

function acksOf(stdout: string): Acknowledged[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
    .filter((line) => line.call_id !== undefined);
}
