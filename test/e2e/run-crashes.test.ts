// Owns: the proof that `kill -9` at any moment of a run loses nothing and executes no attempt twice, on this machine's backend.
// Refuses: mercy: the instants are drawn at random, spread over the whole life of a call.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isOpen } from '../../src/contract/run.ts';
import type { RunData } from '../../src/contract/runs.ts';
import { createDefaultRuntime } from '../../src/preset/default.ts';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { amount } from './support/amount.ts';
import { fakeDigest } from './support/toolpack-workspace.ts';

const KILLS = amount('HAFT_RUN_KILLS', 100, 12);
const IMAGE = fakeDigest('image');

/** Leaves a line for every time that it is executed, and takes a moment. */
const TOOLPACK = `import { defineTool, runPlan } from 'haft/toolpack';
export default defineTool({
  abiVersion: 'v1', toolName: 'counted', contractVersion: 'v1', planKind: 'docker', description: 'Counts how often it is executed',
  input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  declaredOutputs: [{ role: 'count', type: 'text/plain', label: 'Count', srcRelpath: 'out/count' }],
  canonicalize: ({ n }) => ({
    canonicalParams: { n }, inputsToLink: [],
    plan: { kind: 'docker', image: '${IMAGE}', argv: ['sh', '-c', 'echo began >> out/count; sleep 0.1'], inputs: [] },
  }),
  run: runPlan,
});
`;

const CALLER = `
import { createDefaultRuntime } from './src/preset/default.ts';
const [workspace, n] = JSON.parse(process.argv[1]);
const runtime = await createDefaultRuntime({ workspace });
process.send('ready');
const answer = await runtime.call({ tool: 'counted', args: { n } });
process.send({ ok: answer.ok, errors: answer.errors });
await runtime.close();
process.disconnect();
`;

describe('a run', () => {
  it(`whose process is killed at ${KILLS} random instants ends with one result, no attempt open, none executed twice`, async () => {
    const workspace = makeWorkspace();
    try {
      // The first call looks at the pack as well.
      await callOnce(workspace, KILLS + 1);
      const lifetime = await callOnce(workspace, 0);
      // One while the program surely runs.
      await callOnce(workspace, 1, 'began');
      for (let n = 2; n <= KILLS; n++)
        await callOnce(workspace, n, ((n - 1 + Math.random()) / KILLS) * lifetime);
      const runtime = await createDefaultRuntime({ workspace });
      try {
        await runtime.runs.recover();
        let lost = 0;
        for (let n = 0; n <= KILLS; n++) {
          const answer = await runtime.call({ tool: 'counted', args: { n } });
          assert.ok(answer.ok, JSON.stringify(answer.errors));
          const [count] = (answer.data as RunData).outputs;
          const { bytes } = await (await runtime.artifacts()).read(count!.artifact_id);
          assert.equal(Buffer.from(bytes).toString(), 'began\n');
          const attempts = await runtime.runs.attempts(answer.runId!);
          assert.equal(attempts.filter(({ state }) => state === 'succeeded').length, 1);
          assert.deepEqual(
            attempts.filter(({ state }) => isOpen(state)),
            [],
          );
          lost += attempts.filter(({ state }) => state === 'lost').length;
        }
        assert.ok(lost > 0, 'no kill hit an attempt');
        assert.equal((await runtime.runs.list({ state: 'succeeded', limit: 1000 })).length, KILLS + 2);
        const left = readdirSync(join(workspace, '.haft/runs')).filter((name) => name.startsWith('att_'));
        assert.deepEqual(left, []);
      } finally {
        await runtime.close();
      }
    } finally {
      rmSync(workspace, { recursive: true, force: true });
    }
  });

  it('that three processes ask for at the same moment is executed once, and all of them get its answer', async () => {
    const workspace = makeWorkspace();
    try {
      await callOnce(workspace, 0);
      const codes = await Promise.all([1, 2, 3].map(() => callOnce(workspace, 1)));
      assert.equal(codes.length, 3);
      const runtime = await createDefaultRuntime({ workspace });
      try {
        const answer = await runtime.call({ tool: 'counted', args: { n: 1 } });
        assert.equal(answer.replayed, true, JSON.stringify(answer.errors));
        const attempts = await runtime.runs.attempts(answer.runId!);
        assert.deepEqual(
          attempts.map(({ state }) => state),
          ['succeeded'],
        );
        const rows = await runtime.audit.rows({ tool: 'counted', outcome: 'ok' });
        assert.equal(rows.filter(({ runId }) => runId === answer.runId).length, 4);
      } finally {
        await runtime.close();
      }
    } finally {
      rmSync(workspace, { recursive: true, force: true });
    }
  });
});

function makeWorkspace(): string {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'haft-crashes-')));
  mkdirSync(join(workspace, 'counted'));
  writeFileSync(join(workspace, 'counted/toolpack.ts'), TOOLPACK);
  writeFileSync(
    join(workspace, 'counted/package.json'),
    '{"type":"module","haft":{"toolpack":"toolpack.ts"}}',
  );
  writeTrusted(join(workspace, 'haft.yaml'), 'version: 1\npacks: [counted]\n');
  return workspace;
}

/**
 * Calls in a process of its own; with `killAfter`, kills it so many milliseconds after it was ready, or when its program
 * has begun. Answers how long it took.
 */
async function callOnce(workspace: string, n: number, killAfter?: number | 'began'): Promise<number> {
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      CALLER,
      JSON.stringify([workspace, n]),
    ],
    {
      cwd: join(import.meta.dirname, '../..'),
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
  const exited = once(child, 'exit');
  await Promise.race([once(child, 'message'), exited]);
  const started = performance.now();
  const kill = () => child.kill('SIGKILL');
  const timer =
    killAfter === 'began'
      ? setInterval(() => globSync('.haft/runs/att_*/out/count', { cwd: workspace }).length > 0 && kill(), 5)
      : killAfter !== undefined
        ? setTimeout(kill, killAfter)
        : undefined;
  await exited;
  clearInterval(timer);
  return performance.now() - started;
}
