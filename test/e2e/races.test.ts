// Owns: the proof that links which are swapped in during a call never lead it outside.
// Refuses: to pass when nothing was raced: calls must have met links, and calls must have succeeded.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { type CallResponse, createRuntime, type DefaultRuntime, type JsonObject } from '../../src/index.ts';
import { amount } from './support/amount.ts';
import { snapshot } from './support/snapshot.ts';
import { PARKED, type Swapper, startSwapper } from './support/swapper.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const READS = amount('HAFT_RACE_READS', 100_000, 4_000);
const WRITES = amount('HAFT_RACE_WRITES', 20_000, 600);
const OTHERS = amount('HAFT_RACE_OTHERS', 2_000, 150);
const IN_FLIGHT = 32;
/** Files of each kind, inside and outside. */
const NAMES = Array.from({ length: 8 }, (_, i) => i);

const SENTINEL = 'SENTINEL-outside';
/** What a swapped path may end in; anything else is a fault. A busy machine may also run out of a call's time. */
const FAIR =
  /^(path\.(outside_workspace|not_found|raced|not_directory|not_regular|exists|not_empty|is_directory|denied_by_os)|file\.conflict|patch\.(stale|exists)|undo\.conflict|time\.deadline)$/;

describe('calls while links are swapped', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  let workspace: Workspace;
  let outside: Workspace;
  let outsideBefore: readonly string[];
  let runtime: DefaultRuntime;
  let swapper: Swapper;
  let counts: Record<string, number>;

  before(async () => {
    const files = (text: string) =>
      Object.fromEntries([
        ...NAMES.flatMap((i) => [
          [`d/f${i}`, text],
          [`d/m${i}`, text],
          [`d/n${i}`, text],
          [`d/tree${i}/a`, text],
          [`mid/d/f${i}`, text],
        ]),
      ]);
    outside = makeWorkspace({
      ...files(`${SENTINEL}\n`),
      'd/only-outside': SENTINEL,
      'd/sub/deep': SENTINEL,
    });
    workspace = makeWorkspace(files('inside\n'));
    for (const i of NAMES) workspace.put(`top/mid/d/f${i}`, 'inside\n');
    outside.put('only-outside', SENTINEL);
    outsideBefore = snapshot(outside.root);
    runtime = await createRuntime({ workspace: workspace.root });
    swapper = await startSwapper(workspace.root, outside.root);
  });

  beforeEach(() => {
    counts = {};
  });

  after(async () => {
    const swaps = await swapper.stop();
    await runtime.close();
    workspace.remove();
    outside.remove();
    assert.ok(swaps > 100, `only ${swaps} swaps: nothing was raced`);
  });

  const call = async (tool: string, args: JsonObject): Promise<CallResponse> => {
    const response = await runtime.call({ tool, args });
    const outcome = response.errors[0]?.reason ?? 'ok';
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    assert.ok(
      !JSON.stringify(response).includes(SENTINEL),
      `${tool} ${JSON.stringify(args)} tells: ${JSON.stringify(response)}`,
    );
    if (!response.ok) assert.match(outcome, FAIR, `${tool}: ${response.errors[0]?.message}`);
    return response;
  };

  const raced = () => counts.ok !== undefined && counts['path.outside_workspace'] !== undefined;

  /** Runs `one` with 0, 1, 2, … so often, several at a time; longer where the machine was too busy to race anything. */
  const many = async (times: number, one: (n: number) => Promise<unknown>): Promise<void> => {
    let next = 0;
    let failed = false;
    const lane = async () => {
      while (!failed && (next < times || (!raced() && next < 20 * times))) {
        await one(next++).catch((thrown) => {
          failed = true;
          throw thrown;
        });
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: IN_FLIGHT }, lane));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  };

  const conclude = (t: TestContext) => {
    t.diagnostic(JSON.stringify(counts));
    assert.ok(counts.ok! > 0, `no call succeeded: ${JSON.stringify(counts)}`);
    assert.ok(counts['path.outside_workspace']! > 0, `no call met a link: ${JSON.stringify(counts)}`);
    assert.deepEqual(snapshot(outside.root), outsideBefore);
  };

  it('a program that checks first and opens later would be led outside', () => {
    for (let tries = 0; tries < 1_000_000; tries++) {
      try {
        const path = workspace.path('d/f0');
        if (!realpathSync(path).startsWith(workspace.root)) continue;
        if (readFileSync(path, 'utf8').includes(SENTINEL)) return;
      } catch {
        // Swapped away.
      }
    }
    assert.fail('the swapper is too slow to race anything');
  });

  it(`file_read tells nothing of the outside in ${READS} reads`, async (t) => {
    const paths = ['d/f0', 'top/mid/d/f1', 'd/f1', 'd/f0'];
    await many(READS, (n) => call('file_read', { path: paths[n % paths.length]! }));
    conclude(t);
  });

  it(`file_write writes nothing outside in ${WRITES} writes`, async (t) => {
    const paths = ['d/f0', 'd/new', 'top/mid/d/f', 'd/sub/deep', 'd/f', 'top/mid/new'];
    await many(WRITES, (n) => {
      const path = `${paths[n % paths.length]}${n % 5 === 0 ? '' : n % NAMES.length}`;
      return call('file_write', { path, content: `inside ${n}\n`, no_undo: n % 2 === 0 });
    });
    conclude(t);
  });

  it(`fs_list names nothing of the outside in ${OTHERS} listings`, async (t) => {
    const globs = ['**', 'd/**', 'top/mid/**', 'd/*', 'top/*/d/*'];
    await many(OTHERS, async (n) => {
      const glob = globs[n % globs.length]!;
      const { ok, data } = await call('fs_list', {
        glob,
        include_hidden: true,
        include_ignored: true,
        include_dirs: true,
      });
      if (ok) assert.ok(!JSON.stringify(data).includes('only-outside'), `${glob} names the outside`);
    });
    conclude(t);
  });

  it(`fs_copy carries nothing in from the outside in ${OTHERS} copies`, async (t) => {
    await many(OTHERS, (n) => {
      const i = n % NAMES.length;
      const src = ['d/f0', `d/f${i}`, 'd', `top/mid/d/f${i}`, `d/tree${i}`, 'd/only-outside'][n % 6]!;
      return call('fs_copy', { src, dst: `copies/${n % 40}/${n % 6}`, overwrite: true });
    });
    assertNothingCarriedIn('copies');
    conclude(t);
  });

  it(`fs_move, file_patch, file_edit, fs_delete and undo change nothing outside in ${OTHERS} rounds`, async (t) => {
    await many(OTHERS, async (n) => {
      const i = n % NAMES.length;
      const made = await call('file_write', { path: `d/m${i}`, content: `inside\nround ${n}\n` });
      await call('fs_move', { src: `d/m${i}`, dst: `d/n${i}`, overwrite: true });
      await call('file_patch', { path: `d/n${i}`, unified_diff: '@@ -1 +1 @@\n-inside\n+patched\n' });
      await call('file_edit', { path: `d/n${i}`, old: 'patched', new: 'edited' });
      await call('fs_move', { src: `d/n${i}`, dst: `moved/${n % 40}`, overwrite: true });
      await call('fs_move', { src: `moved/${n % 40}`, dst: `top/mid/d/m${i}`, overwrite: true });
      await call('file_write', { path: `d/tree${i}/b`, content: 'inside\n' });
      await call('fs_delete', { path: n % 2 ? `d/tree${i}` : `d/n${i}`, recursive: true });
      await call('fs_delete', { path: 'd/only-outside' });
      if (made.ok) await call('undo', { call_id: made.callId });
    });
    assertNothingCarriedIn('moved');
    conclude(t);
  });

  it('nothing landed where a folder was only for a moment, and the audit verifies', async () => {
    await swapper.pause();
    assert.deepEqual(readdirSync(workspace.path(PARKED)), []);
    assert.equal((await runtime.audit.verify()).ok, true);
  });

  const assertNothingCarriedIn = (folder: string) => {
    for (const entry of readdirSync(workspace.path(folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      assert.ok(!readFileSync(path, 'utf8').includes(SENTINEL), `${path} came from the outside`);
    }
  };
});
