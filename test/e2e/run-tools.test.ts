// Owns: the tools that look after runs, through the pipeline: what they answer, and what an agent that means no good gets from them.
// Refuses: a cluster; the sandbox of this machine stands for it, under the cluster's name. slurm-tools.test.ts has a real one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CallResponse } from '../../src/contract/envelope.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import type { RunParts } from '../../src/contract/runs.ts';
import { defineBuiltin } from '../../src/index.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../src/preset/default.ts';
import { eventually } from '../support/eventually.ts';
import { stepsPack } from './support/steps-pack.ts';
import { makeWorkspace } from './support/workspace.ts';

const GRANTED = 'runs:\n  backends: [slurm]\n';

/** Says nothing of what it touches. */
const liar = defineBuiltin<{ readonly run_id: string }, object>({
  id: 'liar',
  title: 'Lie',
  description: 'Reaches for runs that it did not declare.',
  input: { type: 'object' },
  output: { type: 'object' },
  effects: () => [],
  async run({ run_id }, ctx) {
    const reasons = await Promise.all(
      [
        () => ctx.runs.cancel(run_id),
        () => ctx.runs.look(run_id),
        () => ctx.runs.collect(run_id),
        () => ctx.runs.submit({ tool: 'steps', args: {}, backend: 'slurm' }),
      ].map((reach) => reach().catch(({ reason }) => reason)),
    );
    return { reasons };
  },
});

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the tool says
type Answer = CallResponse & { readonly data: any };

interface Bench {
  readonly runtime: DefaultRuntime;
  call(tool: string, args: JsonObject, sessionId?: string): Promise<Answer>;
  submit(how: string, word: string, sessionId?: string): ReturnType<Bench['call']>;
  until(runId: string, state: string): Promise<void>;
}

async function withRuns(policy: string, use: (bench: Bench) => Promise<void>): Promise<void> {
  const workspace = makeWorkspace(stepsPack(policy));
  const runtime = await createDefaultRuntime({
    workspace: workspace.root,
    tools: [liar],
    runs: ({ backends, ...usual }: RunParts) => {
      const local = backends.find(({ name }) => name === 'local')!;
      return { ...usual, backends: [local, { ...local, name: 'slurm' }] };
    },
  });
  const call: Bench['call'] = (tool, args, sessionId) => runtime.call({ tool, args, sessionId });
  const bench: Bench = {
    runtime,
    call,
    submit: (how, word, sessionId) => call('slurm_submit', { tool: 'steps', args: { how, word } }, sessionId),
    until(runId, state) {
      const isThere = async () => (await call('slurm_job_get', { run_id: runId })).data.state === state;
      return eventually(isThere, `the run ${state}`);
    },
  };
  try {
    await use(bench);
  } finally {
    await runtime.close();
    workspace.remove();
  }
}

const reasonOf = ({ errors: [error] }: CallResponse) => error?.reason;

describe('slurm_submit', () => {
  it('answers while the run goes on, which is looked at, collected and answered again by its result', () =>
    withRuns(GRANTED, async ({ runtime, call, submit, until }) => {
      const { data, ok, errors } = await submit('count', 'c');
      assert.ok(ok, JSON.stringify(errors));
      const { run_id } = data;
      assert.deepEqual([data.state, data.replayed, data.tool], ['running', false, 'steps']);
      assert.deepEqual([data.attempt.number, data.attempt.backend, data.job], [1, 'slurm', null]);
      assert.equal((await submit('count', 'c')).data.attempt.attempt_id, data.attempt.attempt_id);
      const early = await call('slurm_job_collect', { run_id });
      assert.deepEqual([reasonOf(early), early.errors[0]?.details?.state], ['run.state', 'running']);
      assert.equal(early.errors[0]?.code, 'E_VALIDATION_FAIL');
      await until(run_id, 'succeeded');
      const { data: collected } = await call('slurm_job_collect', { run_id });
      assert.deepEqual(
        collected.outputs.map(({ role }: JsonObject) => role),
        ['answer', 'log'],
      );
      const { data: read } = await call('artifact_get', { artifact: collected.outputs[0].artifact_id });
      assert.equal(read.content, 'c\n');
      const again = (await submit('count', 'c')).data;
      assert.deepEqual([again.replayed, again.state, again.attempts], [true, 'succeeded', 1]);
      assert.equal((await runtime.runs.attempts(run_id)).length, 1);
    }));

  it('is recorded together with the call that it makes, as one request of one session', () =>
    withRuns(GRANTED, async ({ runtime, submit, until }) => {
      const { id } = await runtime.sessions.open({ attribution: { agent: 'a1' } });
      const { requestId, callId, data } = await submit('ok', 'x', id);
      await until(data.run_id, 'succeeded');
      const recorded = async () =>
        (await runtime.audit.rows({ session: id })).filter((row) => row.requestId === requestId);
      // The run has its result a moment before the call that it belongs to has ended.
      await eventually(async () => (await recorded()).length === 3, 'the row of the call');
      const rows = await recorded();
      assert.deepEqual(
        rows.map(({ tool, phase, outcome, session }) => [tool, phase, outcome, session]).sort(),
        [
          ['slurm_submit', 'intent', 'pending', id],
          ['slurm_submit', 'outcome', 'ok', id],
          ['steps', 'outcome', 'ok', id],
        ],
      );
      const own = rows.find((row) => row.callId === callId && row.phase === 'outcome');
      assert.deepEqual([own?.facts?.run, own?.facts?.attempt], [data.run_id, data.attempt.attempt_id]);
      assert.deepEqual(rows.find(({ tool }) => tool === 'steps')?.attribution, { agent: 'a1' });
      assert.equal((await runtime.runs.attempts(data.run_id))[0]?.session, id);
    }));

  it('is denied where haft.yaml grants no cluster, and its line admits it', () =>
    withRuns('', async ({ runtime, submit }) => {
      const { errors, data } = await submit('ok', 'x');
      assert.deepEqual([errors[0]?.reason, data], ['policy.denied', null]);
      assert.equal(
        errors[0]?.details?.admit,
        GRANTED.replace('[slurm]', '\n    - slurm').replace(': \n', ':\n'),
      );
      assert.deepEqual(await runtime.runs.list(), []);
    }));

  it('submits nothing that the session may not call', () =>
    withRuns(GRANTED, async ({ runtime, call, submit }) => {
      const registry = { version: 1, tools: { rules: [{ tool: 'steps', decision: 'deny' }] } };
      const { id } = await runtime.sessions.open({ registry });
      assert.equal(reasonOf(await call('steps', { how: 'ok', word: 'x' }, id)), 'policy.denied');
      const denied = await submit('ok', 'x', id);
      assert.equal(reasonOf(denied), 'policy.denied');
      assert.match(
        denied.errors[0]?.message ?? '',
        /submit steps to slurm.*tools\.rules\[0\] of the session/,
      );
      const whole = { version: 1, tools: { rules: [{ tool: 'slurm_*', decision: 'deny' }] } };
      const other = await runtime.sessions.open({ registry: whole });
      assert.equal(reasonOf(await submit('ok', 'x', other.id)), 'policy.denied');
      assert.deepEqual(await runtime.runs.list(), []);
    }));

  it('asks a person once where the rules of the tool ask, for the call that is meant', () =>
    withRuns(
      `${GRANTED}tools:\n  rules:\n    - { tool: steps, decision: ask }\n`,
      async ({ runtime, submit }) => {
        const pending = await submit('ok', 'x');
        assert.equal(reasonOf(pending), 'approval.pending');
        const [approval] = await runtime.approvals.list('pending');
        assert.equal(approval?.tool, 'steps');
        await runtime.approvals.decide(approval!.id, 'granted', 'test');
        assert.equal(reasonOf(await submit('ok', 'another')), 'approval.pending');
        assert.ok((await submit('ok', 'x')).ok);
        assert.equal(reasonOf(await submit('ok', 'x')), 'approval.pending', 'an approval is used once');
      },
    ));

  it('uses up the budget of the session twice: for itself, and for the call that it makes', () =>
    withRuns(GRANTED, async ({ runtime, submit, until }) => {
      const { id } = await runtime.sessions.open({ budget: { calls: 3 } });
      const first = await submit('ok', 'x', id);
      assert.ok(first.ok, JSON.stringify(first.errors));
      await until(first.data.run_id, 'succeeded');
      await runtime.audit.head();
      assert.equal(reasonOf(await submit('ok', 'y', id)), 'budget.exhausted');
      assert.equal(reasonOf(await submit('ok', 'z', id)), 'budget.exhausted');
      assert.equal((await runtime.runs.list()).length, 1);
    }));

  it('submits no tool that makes no run: not itself, not a file tool, none that is not there', () =>
    withRuns(GRANTED, async ({ runtime, call }) => {
      const nested = { tool: 'slurm_submit', args: { tool: 'slurm_submit', args: {} } };
      assert.equal(reasonOf(await call('slurm_submit', nested)), 'usage');
      for (const tool of ['file_write', 'shell_exec', 'liar'])
        assert.equal(reasonOf(await call('slurm_submit', { tool, args: {} })), 'usage', tool);
      const unknown = await call('slurm_submit', { tool: 'stepz', args: {} });
      assert.deepEqual([reasonOf(unknown), /steps/.test(unknown.errors[0]!.message)], ['tool.unknown', true]);
      assert.equal(
        reasonOf(await call('slurm_submit', { tool: 'steps', args: { how: 'rm -rf' } })),
        'input.schema',
      );
      assert.equal(reasonOf(await call('slurm_submit', { script: '#!/bin/sh' })), 'input.schema');
      assert.deepEqual(await runtime.runs.list(), []);
    }));
});

describe('slurm_job_cancel', () => {
  it('ends a run of the same session, which can be submitted again', () =>
    withRuns(GRANTED, async ({ runtime, call, submit }) => {
      const { id } = await runtime.sessions.open({});
      const { run_id } = (await submit('wait', 'w', id)).data;
      const { data, errors } = await call('slurm_job_cancel', { run_id }, id);
      assert.deepEqual(
        [data?.state, data?.attempt.cause],
        ['cancelled', 'cancelled'],
        JSON.stringify(errors),
      );
      assert.equal((await call('slurm_job_cancel', { run_id }, id)).data.state, 'cancelled');
      assert.equal(reasonOf(await call('slurm_job_collect', { run_id }, id)), 'run.cancelled');
      const again = (await submit('wait', 'w', id)).data;
      assert.deepEqual([again.state, again.attempt.number], ['running', 2]);
      await call('slurm_job_cancel', { run_id }, id);
    }));

  it('leaves a run alone that another session began, or that was called without one', () =>
    withRuns(GRANTED, async ({ runtime, call, submit }) => {
      const [mine, yours] = [await runtime.sessions.open({}), await runtime.sessions.open({})];
      const { run_id } = (await submit('wait', 'yours', yours.id)).data;
      for (const session of [mine.id, undefined]) {
        const denied = await call('slurm_job_cancel', { run_id }, session);
        assert.equal(reasonOf(denied), 'policy.denied');
        assert.match(denied.errors[0]?.message ?? '', /another session began it.*haft runs cancel/);
        // Asking for the same run joins it, and does not make it one's own.
        assert.equal((await submit('wait', 'yours', session)).data.run_id, run_id);
        assert.equal(reasonOf(await call('slurm_job_cancel', { run_id }, session)), 'policy.denied');
      }
      assert.equal((await call('slurm_job_get', { run_id })).data.state, 'running');
      const nobodys = (await submit('wait', 'nobody')).data;
      assert.equal(
        reasonOf(await call('slurm_job_cancel', { run_id: nobodys.run_id }, mine.id)),
        'policy.denied',
      );
      assert.ok((await call('slurm_job_cancel', { run_id: nobodys.run_id })).ok);
      assert.ok((await call('slurm_job_cancel', { run_id }, yours.id)).ok);
    }));
});

describe('the tools of runs', () => {
  it('find runs of their own engine only, and no run that is not there', () =>
    withRuns(GRANTED, async ({ call, submit, until }) => {
      const { run_id } = (await submit('ok', 'x')).data;
      await until(run_id, 'succeeded');
      const elsewhere = await call('docker_job_get', { run_id });
      assert.equal(reasonOf(elsewhere), 'policy.denied');
      assert.match(String(elsewhere.errors[0]?.details?.admit), /backends:\n\s+- slurm\n\s+- docker/);
      const local = (await call('steps', { how: 'ok', word: 'here' })).runId!;
      for (const tool of ['slurm_job_get', 'slurm_job_collect', 'slurm_job_cancel'])
        for (const id of [local, `run_${'f'.repeat(64)}`])
          assert.equal(reasonOf(await call(tool, { run_id: id })), 'run.unknown', tool);
      for (const id of ['run_', '../x', `${run_id}0`])
        assert.equal(reasonOf(await call('slurm_job_get', { run_id: id })), 'input.schema');
    }));

  it('say why a run failed, with its log', () =>
    withRuns(GRANTED, async ({ call, submit, until }) => {
      const { run_id } = (await submit('fail', 'x')).data;
      await until(run_id, 'failed');
      const { attempt } = (await call('slurm_job_get', { run_id })).data;
      assert.deepEqual([attempt.cause, attempt.exit_code], ['tool.exit', 3]);
      const refused = await call('slurm_job_collect', { run_id });
      assert.deepEqual([reasonOf(refused), refused.errors[0]?.details?.log], ['run.failed', attempt.log]);
      assert.equal((await call('artifact_get', { artifact: attempt.log })).data.content, 'no x\n');
    }));

  it('are the only way to runs: a tool that did not declare it is refused at the access', () =>
    withRuns(GRANTED, async ({ call, submit, until }) => {
      const { run_id } = (await submit('ok', 'x')).data;
      await until(run_id, 'succeeded');
      const { data } = await call('liar', { run_id });
      assert.deepEqual(data.reasons, Array(4).fill('policy.undeclared'));
    }));

  it('let go of a run when the process ends, instead of waiting for it or cancelling it', async () => {
    let runId = '';
    const workspace = makeWorkspace(stepsPack(GRANTED));
    try {
      const kept: string[] = [];
      const open = () =>
        createDefaultRuntime({
          workspace: workspace.root,
          runs: ({ backends, ...usual }: RunParts) => {
            const local = backends.find(({ name }) => name === 'local')!;
            const cluster: RunParts['backends'][number] = {
              ...local,
              name: 'slurm',
              async start(attempt) {
                const handle = await local.start(attempt);
                return {
                  ...handle,
                  async cancel() {
                    kept.push('cancelled');
                    await handle.cancel();
                  },
                };
              },
            };
            return { ...usual, backends: [local, cluster] };
          },
        });
      const runtime = await open();
      const { data } = await runtime.call({
        tool: 'slurm_submit',
        args: { tool: 'steps', args: { how: 'wait', word: 'w' } },
      });
      runId = (data as { run_id: string }).run_id;
      await runtime.close();
      assert.deepEqual(kept, []);
      const later = await open();
      const [row] = await later.audit.rows({ tool: 'steps' });
      assert.deepEqual([row?.outcome, row?.errors[0]?.reason], ['cancelled', 'run.cancelled']);
      assert.equal((await later.runs.attempts(runId)).length, 1);
      await later.close();
    } finally {
      workspace.remove();
    }
  });
});
