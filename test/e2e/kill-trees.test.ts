// Owns: the proof that a cancelled or timed out `shell_exec` leaves no process: a hundred trees of fifty, one at a time.
// Refuses: to take an answer for an end. /proc is asked, and a process that nobody has waited for yet is one. And to ask for
// more than the machine can do now: beside each tree an ordinary one is killed, and how long that takes is allowed for.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type CallResponse, createRuntime, type DefaultRuntime } from '../../src/index.ts';
import { amount } from './support/amount.ts';
import { inTime } from './support/in-time.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

/** Half of them are cancelled, half run out of time. */
const TREES = amount('HAFT_KILL_TREES', 100, 20);
const HALF = TREES / 2;
const PROCESSES = 50;
const DEADLINE_MS = 500;
/** How many times as long as an ordinary tree needs to be gone after a kill may be added to the deadline. */
const ALLOWANCE = 20;

/** A quarter of a tree is of each kind; odd trees are led by a shell that does not heed SIGTERM either. */
const TREE = `mark=$1
[ "$2" = stubborn ] && trap '' TERM INT HUP
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
  sleep "$mark" &
  setsid sleep "$mark" &
  ( ( trap - TERM; exec setsid sleep "$mark" ) & )
  ( trap '' TERM INT HUP; exec sleep "$mark" ) &
done
sleep "$mark"
`;

describe(`${TREES} trees of ${PROCESSES} processes`, () => {
  let workspace: Workspace;
  let runtime: DefaultRuntime;
  const built: number[] = [];
  const ordinary: number[] = [];
  const deadline = () => DEADLINE_MS + ALLOWANCE * Math.max(...ordinary);
  before(async () => {
    workspace = makeWorkspace({
      'haft.yaml': "version: 1\nshell_allow: ['^bash tree\\.sh(\\s|$)']\n",
      'tree.sh': TREE,
    });
    runtime = await createRuntime({ workspace: workspace.root });
    const first = await runtime.call({
      tool: 'shell_exec',
      args: { cmd: 'bash tree.sh 0 plain', timeout_ms: 60_000 },
    });
    assert.ok(first.ok, JSON.stringify(first.errors));
  });
  after(async () => {
    await runtime.close();
    workspace.remove();
  });

  it(`are gone within ${DEADLINE_MS} ms of a cancel, on a machine that does nothing else`, async (t) => {
    const took: number[] = [];
    for (let n = 0; n < HALF; n++) {
      ordinary.push(await killOrdinary(n));
      const cancel = new AbortController();
      const tree = grow(runtime, n, {}, cancel.signal);
      const pids = await inTime(tree.whole(), `tree ${n}`);
      assert.equal(pids.length, PROCESSES);
      built.push(performance.now() - tree.begun);
      const cancelled = performance.now();
      cancel.abort();
      took.push((await tree.gone(pids)) - cancelled);
      const { ok, errors } = await inTime(tree.response, `the answer of tree ${n}`);
      assert.deepEqual([ok, errors[0]?.reason], [false, 'time.cancelled']);
    }
    t.diagnostic(summary('cancel', took));
    t.diagnostic(summary('kill of an ordinary tree', ordinary));
    assert.ok(Math.max(...took) <= deadline(), summary('cancel', took));
  });

  it(`are gone within ${DEADLINE_MS} ms of their time-out, on a machine that does nothing else`, async (t) => {
    const took: number[] = [];
    // Time enough to be whole, on this machine as it is now.
    let timeout = Math.ceil(Math.max(250, 3 * median(built)));
    for (let n = 0; n < HALF; ) {
      ordinary.push(await killOrdinary(n));
      const tree = grow(runtime, n, { timeout_ms: timeout });
      const pids = await inTime(Promise.race([tree.whole(), tree.response.then(() => [])]), `tree ${n}`);
      // Counted from before the sandbox was even asked for, so a little too early.
      const over = tree.begun + timeout;
      const ended = await tree.gone(pids);
      const { ok, errors } = await inTime(tree.response, `the answer of tree ${n}`);
      assert.deepEqual([ok, errors[0]?.reason], [false, 'time.deadline'], JSON.stringify(errors));
      if (pids.length < PROCESSES) {
        timeout *= 2; // it was not whole when its time was over: another one in its place
        continue;
      }
      took.push(ended - over);
      n++;
    }
    t.diagnostic(summary('time-out', took));
    t.diagnostic(summary('kill of an ordinary tree', ordinary));
    assert.ok(Math.max(...took) <= deadline(), summary('time-out', took));
  });
});

interface Tree {
  readonly begun: number;
  readonly response: Promise<CallResponse>;
  /** Its processes, once all of them are there. */
  whole(): Promise<readonly string[]>;
  /** The time at which neither one of these nor any other of this tree was to be seen. */
  gone(pids: readonly string[]): Promise<number>;
}

function grow(runtime: DefaultRuntime, n: number, args: { timeout_ms?: number }, signal?: AbortSignal): Tree {
  const mark = `8${String(process.pid).padStart(8, '0')}.${n}`;
  const begun = performance.now();
  const cmd = `bash tree.sh ${mark} ${n % 2 ? 'stubborn' : 'plain'}`;
  const response = runtime.call({ tool: 'shell_exec', args: { cmd, ...args } }, signal ? { signal } : {});
  let over = false;
  void response.finally(() => {
    over = true;
  });
  return {
    begun,
    response,
    async whole() {
      for (;;) {
        const found = processes().filter(({ words }) => words === `sleep ${mark}` || words === cmd);
        if (found.length === PROCESSES || over) return found.map(({ id }) => id);
        await pause(5);
      }
    },
    async gone(pids) {
      const known = new Set(pids);
      for (;;) {
        // Also what started them, outside and inside: its words hold the mark too.
        const left = processes().filter(({ id, words }) => known.has(id) || words.includes(mark));
        if (left.length === 0) return performance.now();
        await pause(5);
      }
    },
  };
}

/** How long a tree of as many processes, without a sandbox, is seen after its group was killed. */
async function killOrdinary(n: number): Promise<number> {
  const mark = `9${String(process.pid).padStart(8, '0')}.${n}`;
  const script = `for i in $(seq ${PROCESSES - 1}); do sleep ${mark} & done; exec sleep ${mark}`;
  const leader = spawn('bash', ['-c', script], { detached: true, stdio: 'ignore' });
  const exited = once(leader, 'exit');
  const left = () => processes().filter(({ words }) => words === `sleep ${mark}`).length;
  while (left() < PROCESSES) await pause(5);
  const killed = performance.now();
  process.kill(-leader.pid!, 'SIGKILL');
  while (left() > 0) await pause(5);
  const ended = performance.now();
  await exited;
  return ended - killed;
}

/** A number of a process may be another's later; with its start it is its own. */
function processes(): { readonly id: string; readonly words: string }[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        return [{ id: `${pid} ${stat.slice(stat.lastIndexOf(')')).split(' ')[20]}`, words }];
      } catch {
        return [];
      }
    });
}

function summary(how: string, took: readonly number[]): string {
  const [worst, middle] = [Math.max(...took), median(took)].map((ms) => Math.round(ms));
  return `after a ${how}: worst ${worst} ms, median ${middle} ms, of ${took.length} trees`;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
