// Owns: a toolpack that makes 64 KiB of anything, and stores that hold thousands of its runs.
// Refuses: rows that no store wrote: they are begun and finished through the store itself.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectId } from '../src/contract/object-store.ts';
import type { AttemptRecord, RunRecord } from '../src/contract/run.ts';
import type { DefaultRuntime } from '../src/preset/default.ts';
import { writeTrusted } from '../src/preset/trust/trust-for-tests.ts';
import { makeWorkspace } from './fixtures.ts';
import { openRuntime, ROOT } from './product.ts';

const SIZE = 64 * 1024;
const MODULE = `import { defineTool, runPlan } from 'haft/toolpack';
const OUTPUTS = [{ role: 'bytes', type: 'application/octet-stream', label: 'Bytes', srcRelpath: 'out/bytes' }];
export default defineTool({
  abiVersion: 'v1', toolName: 'bulk', contractVersion: 'v1', planKind: 'slurm', description: 'Makes 64 KiB.',
  input: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'], additionalProperties: false },
  declaredOutputs: OUTPUTS,
  canonicalize: ({ word }) => ({
    canonicalParams: { word },
    inputsToLink: [],
    plan: {
      kind: 'slurm',
      argv: ['sh', '-c', 'yes "$1" | head -c ${SIZE} > out/bytes', 'sh', word],
      io: { inputs: [], outputs: OUTPUTS },
    },
  }),
  run: runPlan,
});
`;

/** A workspace in which the tool `bulk` can be called, on the sandbox of this machine. */
export function makeBulkWorkspace(): string {
  const workspace = makeWorkspace();
  const pack = join(workspace, 'bulk');
  mkdirSync(pack);
  const haft = { toolpack: 'toolpack.ts' };
  writeFileSync(
    join(pack, 'package.json'),
    JSON.stringify({ name: 'bulk', version: '1.0.0', type: 'module', haft }),
  );
  writeFileSync(join(pack, 'toolpack.ts'), MODULE);
  writeTrusted(join(workspace, 'haft.yaml'), 'version: 1\npacks: [bulk]\n');
  return workspace;
}

/** Calls `bulk`; answers whether its result was there already. */
export async function callBulk(
  runtime: DefaultRuntime,
  word: string,
): Promise<{ readonly runId: string; readonly replayed: boolean }> {
  const { ok, errors, runId = '', replayed = false } = await runtime.call({ tool: 'bulk', args: { word } });
  if (!ok) throw new Error(`bulk failed: ${JSON.stringify(errors)}`);
  return { runId, replayed };
}

/** Executes one run, and puts as many like it into the store as to make `count`; one in ten of them failed. */
export async function fillRuns(workspace: string, count: number): Promise<void> {
  const runtime = await openRuntime(workspace);
  const { runId } = await callBulk(runtime, 'first');
  const run = await runtime.runs.get(runId);
  const [attempt] = await runtime.runs.attempts(runId);
  await runtime.close();
  if (!attempt) throw new Error('The run has no attempt');
  await putMore(workspace, { run, attempt }, count - 1);
}

type Stores = typeof import('../src/stores/sqlite/open-sqlite-store.ts');
type Identity = typeof import('../src/stores/process-identity.ts');

const AT_ONCE = 500;

async function putMore(
  workspace: string,
  { run, attempt }: { readonly run: RunRecord; readonly attempt: AttemptRecord },
  count: number,
): Promise<void> {
  const { openSqliteStore } = (await import(join(ROOT, 'dist/stores/sqlite/open-sqlite-store.js'))) as Stores;
  const { processIdentity } = (await import(join(ROOT, 'dist/stores/process-identity.js'))) as Identity;
  const clock = { now: () => Date.now() };
  const store = await openSqliteStore({
    folder: join(workspace, '.haft'),
    process: processIdentity(),
    clock,
  });
  const put = async (n: number): Promise<void> => {
    const digits = n.toString(16).padStart(64, '0');
    const id = `att_${digits}`;
    const { backend, callId, purpose, exitCode, message, observed, outputs } = attempt;
    const { tool, contract, preimage, plan, args } = run;
    if (!plan || !args) throw new Error('The run has no plan');
    const own = { ...(preimage.params as object), params: { word: `word ${n}` } };
    await store.runs.begin(
      { runId: `run_${digits}`, tool, contract, preimage: { ...preimage, params: own }, args, plan },
      { id, purpose, backend, callId: `${callId}-${n}` },
      clock.now(),
    );
    const failed = n % 10 === 0;
    const artifact: ObjectId = `sha256:${digits}`;
    await store.runs.finish(
      id,
      {
        state: failed ? 'failed' : 'succeeded',
        failure: failed ? 'tool' : null,
        cause: failed ? 'tool.exit' : null,
        exitCode: failed ? 1 : exitCode,
        message,
        observed,
        outputs: outputs.map((output) => (output.role === 'log' ? output : { ...output, artifact })),
        ...(failed ? {} : { data: run.result?.data ?? null }),
      },
      clock.now(),
    );
  };
  for (let done = 0; done < count; done += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, i) => put(done + i + 1)));
  await store.close();
}
