// Owns: `node bench/retention.ts`: very many calls in one workspace whose host cleans up by itself, and what `.haft` then holds.
// Refuses: to call it bounded unless the audit verifies whole, from the first row to the last.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { sha256Hex } from '../src/base/digest.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../src/preset/default.ts';

const DAY_MS = 86_400_000;
/** Of so many calls one overwrites a file. */
const WRITES = 10;
const AT_ONCE = 64;
const FILES = 200;
/** In the database, after all was cleaned up: what is kept, and what does not fill a segment. */
const MOST_ROWS = 20_000 + 4096;
/** While calls come: twice what is kept, and at most so many segments that wait. */
const MOST_ROWS_UNDER_LOAD = 2 * 20_000 + 12 * 4096;
/** Of `.haft` without segments, at any time: those rows, what undo keeps, and the log. */
const MOST_UNDER_LOAD = 120e6;
/** How often it is looked at meanwhile. */
const LOOKS = 20;
/** Bytes of a row in a segment. */
const MOST_A_ROW = 120;

/** One call stands for so much time, so that what is kept by age comes of age. */
const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000000' },
    days: { type: 'string', default: '60' },
    keep: { type: 'boolean', default: false },
  },
});
const calls = Number(values.calls);
const msPerCall = (Number(values.days) * DAY_MS) / calls;

const POLICY = `version: 1
undo:
  keep: {days: 7, bytes: 67108864}
audit:
  keep: {days: 7, rows: 20000}
`;

await main();

async function main(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'haft-retention-'));
  process.env.XDG_CONFIG_HOME = join(home, 'config');
  const workspace = join(home, 'workspace');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'haft.yaml'), POLICY);
  writeFileSync(join(workspace, 'read.txt'), 'read\n');
  const start = Date.now() - Number(values.days) * DAY_MS;
  let made = 0;
  const clock = { now: () => Math.round(start + made * msPerCall), monotonic: () => performance.now() };
  const warnings: string[] = [];
  const runtime = await createDefaultRuntime({
    workspace,
    clock,
    living: true,
    trust: sha256Hex(POLICY),
    onWarning: (message) => warnings.push(message),
  });
  try {
    const began = performance.now();
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const peak = { rows: 0, bytes: 0 };
    await makeCalls(
      runtime,
      () => (made < calls ? made++ : undefined),
      async (count) => {
        const sizes = await runtime.sizes();
        peak.rows = Math.max(peak.rows, sizes.rows);
        peak.bytes = Math.max(peak.bytes, sizes.total - sizes.segmentBytes);
        if (count % (Math.ceil(calls / LOOKS) * 2) === 0) show(sizes, count, began);
      },
    );
    console.log(
      `under load: ${(calls / ((performance.now() - began) / 1000)).toFixed(0)} calls/s; at most ${peak.rows} rows in the database, and .haft ${mb(peak.bytes)} without segments`,
    );
    console.log(
      `event loop: at most ${(delay.max / 1e6).toFixed(0)} ms late, p99 ${(delay.percentile(99) / 1e6).toFixed(0)} ms`,
    );
    delay.disable();
    show(await runtime.sizes(), calls, began);
    const ended = performance.now();
    console.log('haft gc:', JSON.stringify(await runtime.cleanUp()), took(ended));
    show(await runtime.sizes(), calls, began);
    const verifying = performance.now();
    const verdict = await runtime.audit.verify();
    console.log('audit verify:', JSON.stringify(verdict), took(verifying));
    const looking = performance.now();
    const [first] = await runtime.audit.rows({ limit: 1 });
    console.log(`audit list: first row ${first?.seq}, ${first?.tool}`, took(looking));
    for (const message of warnings) console.log('warning:', message);
    const { rows, archivedRows, segmentBytes, objects } = await runtime.sizes();
    const bounded = rows < MOST_ROWS && segmentBytes < archivedRows * MOST_A_ROW && objects.undo < 67_108_864;
    if (!bounded) console.log('more is kept than the policy says');
    const keptUp = peak.rows < MOST_ROWS_UNDER_LOAD && peak.bytes < MOST_UNDER_LOAD;
    if (!keptUp)
      console.log(
        `cleaning up did not keep up with the calls: more than ${MOST_ROWS_UNDER_LOAD} rows or ${mb(MOST_UNDER_LOAD)}`,
      );
    if (!verdict.ok || first?.seq !== 1 || !bounded || !keptUp) process.exitCode = 1;
  } finally {
    await runtime.close();
    if (values.keep) console.log(workspace);
    else rmSync(home, { recursive: true });
  }
}

async function makeCalls(
  runtime: DefaultRuntime,
  next: () => number | undefined,
  report: (count: number) => Promise<void>,
): Promise<void> {
  const worker = async (): Promise<void> => {
    for (let n = next(); n !== undefined; n = next()) {
      // No two calls have equal arguments: their hashes do not compress.
      const request =
        n % WRITES === 0
          ? { tool: 'file_write', args: { path: `${n % FILES}.txt`, content: `${n}\n`.repeat(100) } }
          : { tool: 'file_read', args: { path: 'read.txt', end_byte: n } };
      const { ok, errors } = await runtime.call(request);
      if (!ok) throw new Error(`call ${n}: ${errors[0]?.message}`);
      if (n > 0 && n % Math.ceil(calls / LOOKS) === 0) await report(n);
      // Reads answer without waiting for anything: timers get their turn.
      if (n % 32 === 0) await new Promise(setImmediate);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function show(sizes: Awaited<ReturnType<DefaultRuntime['sizes']>>, count: number, began: number): void {
  const { total, database, rows, archivedRows, segmentBytes, objects } = sizes;
  console.log(
    `${count} calls: .haft ${mb(total)} (database ${mb(database)} with ${rows} rows; segments ${mb(segmentBytes)} with ${archivedRows} rows; undo ${mb(objects.undo)})`,
    took(began),
  );
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function took(since: number): string {
  return `[${((performance.now() - since) / 1000).toFixed(1)} s]`;
}
