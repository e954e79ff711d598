import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AttemptRecord } from '../../contract/run.ts';
import type { RunLook, RunSubmission } from '../../contract/runs.ts';
import type { RunsHandle } from '../../contract/runs-handle.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createToolHarness, type ToolHarness } from '../../testing/tool-harness-for-tests.ts';
import { dockerJobGet } from './docker-job-get.ts';
import { slurmJobCancel } from './slurm-job-cancel.ts';
import { slurmJobCollect } from './slurm-job-collect.ts';
import { slurmJobGet } from './slurm-job-get.ts';
import { slurmSubmit } from './slurm-submit.ts';

const RUN = `run_${'a'.repeat(64)}`;
const LOG = `sha256:${'1'.repeat(64)}` as const;

const attempt: AttemptRecord = {
  id: 'att_1',
  runId: RUN,
  number: 1,
  purpose: 'run',
  state: 'running',
  backend: 'slurm',
  owner: 'process',
  callId: 'call_1',
  session: null,
  createdTs: 0,
  startedTs: 1000,
  endedTs: null,
  failure: null,
  cause: null,
  exitCode: null,
  message: '',
  observed: null,
  checkpoint: null,
  cancelTs: null,
  outputs: [],
};

const look = (fields: Partial<AttemptRecord> = {}, job: RunLook['job'] = null): RunLook => ({
  run: {
    runId: RUN,
    tool: 'steps',
    contract: 'v1',
    state: 'running',
    preimage: {},
    args: { secret: 'not shown' },
    plan: null,
    result: null,
    createdTs: 0,
    updatedTs: 0,
  },
  attempts: [
    { ...attempt, ...fields },
    { ...attempt, id: 'att_2', number: 2, purpose: 'verify', backend: 'local' },
  ],
  job,
});

describe('the tools of runs', () => {
  let harness: ToolHarness;
  let now: RunLook = look();
  const submitted: RunSubmission[] = [];
  const runs: RunsHandle = {
    async submit(request) {
      submitted.push(request);
      return { ...now, replayed: false };
    },
    look: async () => now,
    cancel: async () => now,
    collect: async () => ({
      result: { n: 1 },
      outputs: [{ role: 'log', type: 'text/plain', label: 'Log', artifact_id: LOG, size: 3 }],
    }),
  };
  before(async () => {
    harness = await createToolHarness({
      capabilities: {},
      openObjects: (folder) => openObjectStore({ folder, process: 'test' }),
      schemas: createSchemaCompiler(),
      runs,
    });
  });
  after(() => harness.close());

  it('slurm_submit hands on a tool with its arguments and place, never a script, and says what it submits', async () => {
    const args = { tool: 'steps', args: { how: 'ok' }, placement: { partition: 'short' } };
    const { data, effects } = await harness.call(slurmSubmit, args);
    assert.deepEqual(submitted, [{ ...args, backend: 'slurm' }]);
    assert.deepEqual(effects, [
      { kind: 'run.backend', backend: 'slurm' },
      { kind: 'run.submit', tool: 'steps', backend: 'slurm' },
    ]);
    assert.deepEqual([data.run_id, data.replayed, data.attempt?.attempt_id], [RUN, false, 'att_1']);
    for (const wrong of [
      { tool: 'steps', script: 'rm' },
      { args: {} },
      { tool: 'x', placement: { nodes: 'a' } },
    ])
      assert.equal((await harness.refuse(slurmSubmit, wrong)).reason, 'input.schema');
  });

  it('slurm_job_get tells the newest attempt that was no verification, and what Slurm says of its job', async () => {
    now = look({}, { id: '7', state: 'PENDING', reason: 'Resources', phase: 'queued' });
    const { data } = await harness.call(slurmJobGet, { run_id: RUN });
    assert.deepEqual([data.state, data.attempts, data.job], ['queued', 2, now.job]);
    assert.deepEqual(
      [data.attempt?.number, data.attempt?.started, data.attempt?.ended],
      [1, '1970-01-01T00:00:01.000Z', null],
    );
    assert.ok(!JSON.stringify(data).includes('not shown'));
  });

  it('each knows runs of its own engine only', async () => {
    now = look({ backend: 'docker' });
    assert.equal((await harness.call(dockerJobGet, { run_id: RUN })).data.state, 'running');
    for (const tool of [slurmJobGet, slurmJobCollect, slurmJobCancel])
      assert.equal((await harness.refuse(tool, { run_id: RUN })).reason, 'run.unknown', tool.id);
    now = { ...look(), attempts: [] };
    assert.match((await harness.refuse(dockerJobGet, { run_id: RUN })).message, /it needed no engine/);
  });

  it('each is refused where policy denies what it would do', async () => {
    now = look();
    for (const tool of [slurmJobGet, slurmJobCollect, slurmJobCancel, dockerJobGet]) {
      const denied = await harness.refuse(
        tool,
        { run_id: RUN },
        { denies: ({ kind }) => kind.startsWith('run.') },
      );
      assert.equal(denied.reason, 'policy.denied', tool.id);
    }
    const { effects } = await harness.call(slurmJobCancel, { run_id: RUN });
    assert.deepEqual(effects, [
      { kind: 'run.backend', backend: 'slurm' },
      { kind: 'run.read', run: RUN },
      { kind: 'run.cancel', run: RUN },
    ]);
  });

  it('slurm_job_collect answers result and outputs', async () => {
    const { data } = await harness.call(slurmJobCollect, { run_id: RUN });
    assert.deepEqual([data.result, data.outputs.map(({ artifact_id }) => artifact_id)], [{ n: 1 }, [LOG]]);
  });
});
