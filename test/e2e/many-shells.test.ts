// Owns: the proof that 200 commands at once are all answered, each with its own output, and that they fit into memory.
// Refuses: to look at the host alone: memory is what it and all below it hold at their worst moment.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createRuntime } from '../../src/index.ts';
import { inTime } from './support/in-time.ts';
import { makeWorkspace } from './support/workspace.ts';

const CALLS = 200;
/**
 * Beside what this process held before: the keeper, its slots, and the shells and sandboxes of those that run at once.
 * Pages that several processes share (the code of bash and libc) are counted for each in the first, once in the second.
 */
const BOUND_MIB = 1024;
const SHARED_BOUND_MIB = 256;

describe(`${CALLS} calls of shell_exec at once`, () => {
  it(`all answer, within ${BOUND_MIB} MiB`, async (t) => {
    const workspace = makeWorkspace({
      'haft.yaml': "version: 1\nshell_allow: ['^(echo|sleep|seq)(\\s|$)']\n",
    });
    const runtime = await createRuntime({ workspace: workspace.root });
    const before = held();
    let most = { rss: 0, pss: 0, processes: 0 };
    const looking = setInterval(() => {
      const now = held();
      if (now.rss > most.rss) most = now;
    }, 100);
    try {
      const answers = await inTime(
        Promise.all(
          Array.from({ length: CALLS }, (_, n) =>
            runtime.call({
              tool: 'shell_exec',
              args: { cmd: `echo "call ${n}"; seq ${n}; sleep 0.3; echo end` },
            }),
          ),
        ),
        'some call',
        120_000,
      );
      for (const [n, { ok, data, errors }] of answers.entries()) {
        assert.ok(ok, JSON.stringify(errors));
        const { stdout, stderr, code } = data as { stdout: string; stderr: string; code: number };
        const counted = Array.from({ length: n }, (_, i) => `${i + 1}\n`).join('');
        assert.deepEqual([stdout, stderr, code], [`call ${n}\n${counted}end\n`, '', 0]);
      }
      const rows = await runtime.audit.rows({ limit: 10 * CALLS });
      assert.equal(
        rows.filter(({ phase, outcome }) => phase === 'outcome' && outcome === 'ok').length,
        CALLS,
      );
      assert.equal((await runtime.audit.verify()).ok, true);
    } finally {
      clearInterval(looking);
      await runtime.close();
      workspace.remove();
    }
    const grown = most.rss - before.rss;
    const shared = most.pss - before.pss;
    t.diagnostic(
      `at most ${Math.round(grown)} MiB more (${Math.round(shared)} MiB with shared pages counted once), ${most.processes} processes`,
    );
    assert.ok(most.processes > 100, `${most.processes} processes: they did not run at once`);
    assert.ok(grown < BOUND_MIB, `${Math.round(grown)} MiB`);
    assert.ok(shared < SHARED_BOUND_MIB, `${Math.round(shared)} MiB with shared pages counted once`);
  });
});

/** Of this process and all below it, in MiB: what is resident, and the same with shared pages divided. */
function held(): { rss: number; pss: number; processes: number } {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : '';
    if (stat) parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]));
  }
  const mine = new Set([process.pid]);
  for (let size = 0; size !== mine.size; ) {
    size = mine.size;
    for (const [pid, parent] of parents) if (mine.has(parent)) mine.add(pid);
  }
  let [rss, pss] = [0, 0];
  for (const pid of mine) {
    rss += kib(read(`/proc/${pid}/status`), 'VmRSS') / 1024;
    pss += kib(read(`/proc/${pid}/smaps_rollup`), 'Pss') / 1024; // root alone may look at all of them
  }
  return { rss, pss, processes: mine.size };
}

const kib = (text: string, key: string): number =>
  Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
