// Owns: that a run is the same run wherever it is executed: the toolpacks of examples/ on real engines, through policy, byte by byte.
// Refuses: what each engine does by itself; the backends' own tests look at that.
import assert from 'node:assert/strict';
import { cpSync, globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { rootOf } from '../../scripts/engines/docker-images.ts';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import { withSlurm } from '../../scripts/engines/with-slurm.ts';
import type { CallResponse } from '../../src/contract/envelope.ts';
import type { Json, JsonObject } from '../../src/contract/json.ts';
import type { BackendName, RunsPolicy } from '../../src/contract/policy.ts';
import type { RunData } from '../../src/contract/runs.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../src/preset/default.ts';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';

const docker = withDocker();
const slurm = withSlurm();
const skip = docker.skip || slurm.skip;

const PACKS = join(import.meta.dirname, '../../examples/toolpacks');
const NAMES: Readonly<Record<string, readonly BackendName[]>> = {
  table_sort: ['docker', 'slurm', 'local'],
  fastq_stats: ['docker', 'slurm', 'local'],
  checksum_tree: ['slurm', 'local'],
};

interface Call {
  readonly tool: string;
  readonly args: JsonObject;
  readonly result: Json;
}

const callsOf = (name: string): readonly Call[] =>
  globSync('calls/*.json', { cwd: join(PACKS, name) })
    .sort()
    .map((file) => JSON.parse(readFileSync(join(PACKS, name, file), 'utf8')));

/** The same packs, the same images, every backend granted; what differs is where a workspace lies. */
async function withWorkspace(use: (runtime: DefaultRuntime) => Promise<void>): Promise<void> {
  const [engine, cluster] = [await docker.engine(), await slurm.engine()];
  const image = engine.images.coreutils;
  const runs: RunsPolicy = {
    backends: ['docker', 'slurm'],
    docker: { socket: engine.socket },
    images: [{ name: 'haft/coreutils:1', image }],
    slurm: {
      conf: cluster.env.SLURM_CONF,
      images: [{ image, folder: rootOf(engine.folder, 'coreutils') }],
    },
  };
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-hybrid-')));
  for (const name of Object.keys(NAMES)) cpSync(join(PACKS, name), join(root, name), { recursive: true });
  writeTrusted(join(root, 'haft.yaml'), JSON.stringify({ version: 1, packs: Object.keys(NAMES), runs }));
  const runtime = await createDefaultRuntime({ workspace: root });
  try {
    await use(runtime);
  } finally {
    await runtime.close();
    rmSync(root, { recursive: true, force: true });
  }
}

async function make(runtime: DefaultRuntime, { tool, args }: Call, backend: BackendName) {
  const artifacts = await runtime.artifacts();
  const named: [string, Json][] = [];
  for (const [key, value] of Object.entries(args)) {
    const isFile = typeof value === 'string' && value.startsWith('file:');
    const path = isFile ? join(PACKS, tool, 'calls', basename(value.slice('file:'.length))) : '';
    named.push([key, isFile ? (await artifacts.importPath(path)).id : value]);
  }
  const request = { tool, args: Object.fromEntries(named) };
  const answer = (await runtime.call(request, { backend })) as CallResponse & { readonly data: RunData };
  assert.ok(answer.ok, `${tool} on ${backend}: ${JSON.stringify(answer.errors)}`);
  const { runId = '', replayed = false, data } = answer;
  return { runId, replayed, data };
}

describe('a run is the same wherever it is executed', { skip }, () => {
  for (const [name, backends] of Object.entries(NAMES)) {
    it(`${name} makes one run id and one set of digests on ${backends.join(', ')}`, async () => {
      const seen = new Map<string, BackendName>();
      for (const backend of backends) {
        await withWorkspace(async (runtime) => {
          const made = [];
          for (const call of callsOf(name)) {
            const { runId, replayed, data } = await make(runtime, call, backend);
            assert.equal(replayed, false);
            assert.deepEqual(data.result, call.result);
            const attempts = await runtime.runs.attempts(runId);
            assert.deepEqual(
              attempts.map((one) => [one.backend, one.state]),
              [[backend, 'succeeded']],
            );
            made.push({ runId, outputs: data.outputs });
          }
          assert.ok(made.length > 0);
          seen.set(JSON.stringify(made, null, 1), backend);
        });
      }
      const [first, second] = seen.keys();
      assert.equal(seen.size, 1, `${[...seen.values()].join(' and ')} differ:\n${first}\n${second}`);
    });
  }

  it('one that fails says why in the same words wherever it is executed', async () => {
    const told = new Set<string>();
    for (const backend of ['docker', 'slurm', 'local'] as const) {
      await withWorkspace(async (runtime) => {
        const table = (await (await runtime.artifacts()).importBytes(Buffer.from('a\tb\n1\t2\n3\n'))).id;
        const request = { tool: 'table_sort', args: { table, by: [{ column: 'a' }] } };
        const { errors } = await runtime.call(request, { backend });
        const { message, details } = errors[0]!;
        told.add(JSON.stringify([message, details?.cause, details?.exit_code, details?.stderr]));
      });
    }
    const why = 'line 3: 1 fields, and the header has 2';
    assert.deepEqual(
      [...told].map((one) => JSON.parse(one)),
      [[`The program ended with exit code 65: ${why}`, 'tool.exit', 65, why]],
    );
  });

  it('one that docker executed is answered where slurm is asked, and slurm can verify it', async () => {
    await withWorkspace(async (runtime) => {
      for (const call of [...callsOf('table_sort'), ...callsOf('fastq_stats')]) {
        const first = await make(runtime, call, 'docker');
        const again = await make(runtime, call, 'slurm');
        assert.deepEqual([again.replayed, again.runId], [true, first.runId]);
        const { identical, attemptId } = await runtime.runs.verify(first.runId, { backend: 'slurm' });
        assert.equal(identical, true);
        const attempts = await runtime.runs.attempts(first.runId);
        assert.deepEqual(
          attempts.map(({ id, backend, purpose }) => [id === attemptId, backend, purpose]),
          [
            [false, 'docker', 'run'],
            [true, 'slurm', 'verify'],
          ],
        );
      }
    });
  });
});
