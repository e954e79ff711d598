// Owns: where a run goes when engines are off: to the first place that answers, under one id, or nowhere with every reason.
// Refuses: engines that are on; docker and slurm have tests of their own.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createDefaultRuntime, type DefaultRuntime } from '../../src/preset/default.ts';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';

const MODULE = `import { defineTool, runPlan } from 'haft/toolpack';
const OUTPUTS = [{ role: 'word', type: 'text/plain', label: 'A word', srcRelpath: 'out/word' }];
const program = { argv: ['sh', '-c', 'echo word > out/word'] };
const tool = (toolName, planKind, plan) => defineTool({
  abiVersion: 'v1', toolName, contractVersion: 'v1', planKind, description: 'Writes a word.',
  input: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false }, declaredOutputs: OUTPUTS,
  canonicalize: async (args, ctx) => ({ canonicalParams: { n: args.n ?? 0 }, inputsToLink: [], plan: await plan(ctx) }),
  run: runPlan,
});
export default [
  tool('free', 'slurm', () => ({ kind: 'slurm', ...program, io: { inputs: [], outputs: OUTPUTS } })),
  tool('pinned', 'docker', async (ctx) => ({ kind: 'docker', ...program, image: await ctx.images.pin('demo:1', { optional: true }), inputs: [] })),
];
`;

const SILENT = `  slurm: {conf: /nowhere/slurm.conf, partitions: [long]}
  docker: {socket: /nowhere/docker.sock}
`;

describe('a run whose engines are off', () => {
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-places-')));
  let runtime: DefaultRuntime;
  const policy = async (runs: string) => {
    writeTrusted(join(folder, 'haft.yaml'), `version: 1\npacks: [pack]\nruns:\n${runs}${SILENT}`);
    assert.deepEqual(await runtime.reloadPolicy(), []);
  };
  before(async () => {
    mkdirSync(join(folder, 'pack'));
    const json = { name: 'words', type: 'module', haft: { toolpack: 'toolpack.ts' } };
    writeFileSync(join(folder, 'pack/package.json'), JSON.stringify(json));
    writeFileSync(join(folder, 'pack/toolpack.ts'), MODULE);
    writeTrusted(join(folder, 'haft.yaml'), 'version: 1\npacks: [pack]\n');
    runtime = await createDefaultRuntime({ workspace: folder });
  });
  after(async () => {
    await runtime.close();
    rmSync(folder, { recursive: true });
  });

  it('goes to the first place that answers, says so, and keeps its id', async () => {
    const here = await runtime.call({ tool: 'free', args: { n: 1 } });
    assert.deepEqual(here.errors, []);
    await policy('  backend: slurm\n  backends: [local]\n');
    const moved = await runtime.call({ tool: 'free', args: { n: 2 } });
    assert.deepEqual(moved.errors, []);
    assert.equal(moved.warnings?.[0]?.reason, 'run.place');
    assert.match(moved.warnings?.[0]?.message ?? '', /"free" did not run on slurm: .*slurm\.conf/);
    const [attempt] = await runtime.runs.attempts(moved.runId as string);
    assert.equal(attempt?.backend, 'local');
    const again = await runtime.call({ tool: 'free', args: { n: 1 } });
    assert.deepEqual([again.runId, again.replayed], [here.runId, true]);
  });

  it('goes nowhere else when the caller asked for the place', async () => {
    await policy('  backend: slurm\n  backends: [local]\n');
    const { errors } = await runtime.call({ tool: 'free', args: { n: 3 } }, { backend: 'slurm' });
    assert.equal(errors[0]?.reason, 'run.infrastructure');
    assert.match(errors[0]?.message ?? '', /slurm\.conf/);
  });

  it('is refused clearly where its id depends on what only the engine knows', async () => {
    await policy('  backends: [docker]\n  images: ["demo:1"]\n');
    const { errors } = await runtime.call({ tool: 'pinned', args: { n: 4 } });
    assert.equal(errors[0]?.reason, 'run.infrastructure');
    assert.match(errors[0]?.message ?? '', /^Cannot name the run: .*"demo:1".*docker.*does not answer/);
    assert.match(errors[0]?.message ?? '', /runs\.images say which digest/);
  });

  it('is explained with the rule, the reason and where else it would go', async () => {
    await policy('  backend: slurm\n  backends: [local]\n');
    const { place, all, decision } = await runtime.policy.explain({ tool: 'free', args: {} });
    const own = { backend: 'slurm', rule: 'runs.backends', why: 'runs.backends has it first' };
    assert.deepEqual(place, { ...own, otherwise: ['local'] });
    assert.deepEqual([decision.verdict, all.at(-1)?.rule], ['allow', 'runs.backends']);
    const asked = await runtime.policy.explain({ tool: 'free', args: {} }, { backend: 'docker' });
    assert.deepEqual([asked.decision.verdict, asked.decision.rule], ['deny', 'runs.backends']);
    const placed = await runtime.policy.explain(
      { tool: 'free', args: {} },
      { placement: { partition: 'short' } },
    );
    assert.equal(placed.decision.rule, 'runs.slurm.partitions');
  });
});
