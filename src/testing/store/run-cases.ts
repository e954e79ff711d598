// Owns: what a store must do with runs and attempts.
// Refuses: execution; the cases only write down what would have happened.
import assert from 'node:assert/strict';
import type { ObjectId } from '../../contract/object-store.ts';
import { ATTEMPT_TRANSITIONS, type AttemptState, RUN_STATE_OF } from '../../contract/run.ts';
import type { AttemptFinish, EndState, NewAttempt, NewRun, RunStore } from '../../contract/run-store.ts';
import type { StoreCase } from './entries.ts';

const RUN_ID = `run_${'a'.repeat(64)}`;
const OBJECT: ObjectId = `sha256:${'1'.repeat(64)}`;

export const RUN_CASES: readonly StoreCase[] = [
  {
    name: 'runs.begin opens one attempt of a run, whoever asks and however often',
    async run({ store, reopen }) {
      const other = await reopen();
      const begun = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          (n % 2 ? other : store).runs.begin(run(), attempt(`att_${n}`), 100),
        ),
      );
      assert.equal(begun.filter(({ mine }) => mine).length, 1);
      assert.equal(new Set(begun.map((one) => one.attempt.id)).size, 1);
      const all = await store.runs.attempts(RUN_ID);
      assert.deepEqual(
        all.map(({ number, state, purpose, backend }) => ({ number, state, purpose, backend })),
        [{ number: 1, state: 'intended', purpose: 'run', backend: 'local' }],
      );
    },
  },
  {
    name: 'runs.begin keeps what was asked, for every process',
    async run({ store, reopen, livingProcess }) {
      await store.runs.begin(run(), attempt('att_1', { session: 'sess_1' }), 100);
      const { runs } = await reopen();
      const { seenResult: _seen, ...asked } = run();
      assert.deepEqual(await runs.get(RUN_ID), {
        ...asked,
        state: 'queued',
        result: null,
        createdTs: 100,
        updatedTs: 100,
      });
      assert.deepEqual(await runs.attempt('att_1'), {
        id: 'att_1',
        runId: RUN_ID,
        number: 1,
        purpose: 'run',
        state: 'intended',
        backend: 'local',
        owner: livingProcess,
        callId: 'call_1',
        session: 'sess_1',
        createdTs: 100,
        startedTs: null,
        endedTs: null,
        failure: null,
        cause: null,
        exitCode: null,
        message: '',
        observed: null,
        checkpoint: null,
        cancelTs: null,
        outputs: [],
      });
      assert.equal(await runs.get('run_0'), undefined);
      assert.equal(await runs.attempt('att_0'), undefined);
    },
  },
  {
    name: 'runs.move and runs.finish go where the table of transitions goes, and nowhere else',
    async run({ store }) {
      const states = Object.keys(ATTEMPT_TRANSITIONS) as AttemptState[];
      let n = 0;
      for (const from of states) {
        for (const to of states.filter((state) => state !== 'intended')) {
          n += 1;
          const id = `att_${n}`;
          const { runs } = store;
          await runs.begin(run({ runId: `run_${n}` }), attempt(id), n);
          if (from !== 'intended') await enter(runs, id, from);
          const allowed = ATTEMPT_TRANSITIONS[from].includes(to);
          const moved = enter(runs, id, to);
          if (allowed) await moved;
          else await assert.rejects(moved, { reason: 'run.state' }, `${from} to ${to}`);
          assert.equal((await runs.attempt(id))?.state, allowed ? to : from, `${from} to ${to}`);
          assert.equal((await runs.get(`run_${n}`))?.state, RUN_STATE_OF[allowed ? to : from]);
        }
      }
    },
  },
  {
    name: 'runs.finish keeps how it ended, its outputs and the result, in one step',
    async run({ store, reopen }) {
      await store.runs.begin(run(), attempt('att_1'), 100);
      await store.runs.move('att_1', 'running', 150);
      const outputs = [
        { role: 'stats', type: 'text/plain', label: 'Counts', artifact: OBJECT, size: 7 },
        { role: 'log', type: 'text/plain', label: 'Log', artifact: OBJECT, size: 7 },
      ];
      const data = { result: { n: 1 }, text: 'ünï' };
      await store.runs.finish(
        'att_1',
        finish('succeeded', { outputs, data, exitCode: 0, observed: { seccomp: 2 } }),
        200,
      );
      const { runs } = await reopen();
      const kept = await runs.get(RUN_ID);
      assert.equal(kept?.state, 'succeeded');
      assert.equal(kept.updatedTs, 200);
      assert.deepEqual(kept.result, { data, callId: 'call_1', outputs: [OBJECT, OBJECT] });
      const ended = await runs.attempt('att_1');
      assert.deepEqual(ended?.outputs, outputs);
      assert.deepEqual(ended.observed, { seccomp: 2 });
      assert.deepEqual([ended.startedTs, ended.endedTs, ended.exitCode], [150, 200, 0]);
    },
  },
  {
    name: 'runs.begin after an end opens the next attempt, and a failure leaves the earlier result alone',
    async run({ store: { runs } }) {
      await runs.begin(run(), attempt('att_1'), 1);
      await runs.finish('att_1', finish('succeeded', { data: { n: 1 } }), 2);
      const seen = run({ seenResult: 'call_1' });
      const { mine, attempt: second } = await runs.begin(seen, attempt('att_2', { backend: 'docker' }), 3);
      assert.ok(mine);
      assert.equal(second.number, 2);
      await runs.finish(
        'att_2',
        finish('failed', { failure: 'tool', cause: 'tool.exit', message: 'code 3', exitCode: 3 }),
        4,
      );
      const kept = await runs.get(RUN_ID);
      assert.equal(kept?.state, 'failed');
      assert.deepEqual(kept.result?.data, { n: 1 });
      const [, failed] = await runs.attempts(RUN_ID);
      assert.deepEqual([failed?.failure, failed?.cause, failed?.message], ['tool', 'tool.exit', 'code 3']);
      assert.deepEqual(
        (await runs.list({})).map(({ attempts, backend, message }) => ({ attempts, backend, message })),
        [{ attempts: 2, backend: 'docker', message: 'code 3' }],
      );
    },
  },
  {
    name: 'runs.begin answers the attempt whose result the caller has not seen',
    async run({ store: { runs } }) {
      await runs.begin(run(), attempt('att_1'), 1);
      await runs.finish('att_1', finish('succeeded', { data: { n: 1 } }), 2);
      for (const seenResult of [null, 'call_0']) {
        const { mine, attempt: made } = await runs.begin(run({ seenResult }), attempt('att_2'), 3);
        assert.deepEqual([mine, made.id, made.state], [false, 'att_1', 'succeeded']);
      }
      assert.equal((await runs.begin(run({ seenResult: 'call_1' }), attempt('att_2'), 3)).mine, true);
    },
  },
  {
    name: 'runs.begin of a verification goes beside the run, and leaves its state and result alone',
    async run({ store: { runs } }) {
      await runs.begin(run(), attempt('att_1'), 1);
      await runs.finish('att_1', finish('succeeded', { data: { n: 1 } }), 2);
      const verify = attempt('att_2', { purpose: 'verify', callId: 'call_2' });
      assert.ok((await runs.begin(run(), verify, 3)).mine);
      assert.equal((await runs.begin(run(), { ...verify, id: 'att_3' }, 3)).attempt.id, 'att_2');
      await runs.move('att_2', 'running', 4);
      assert.equal((await runs.get(RUN_ID))?.state, 'succeeded');
      await runs.finish('att_2', finish('failed', { failure: 'tool', data: { n: 2 } }), 5);
      const kept = await runs.get(RUN_ID);
      assert.deepEqual([kept?.state, kept?.result?.data, kept?.updatedTs], ['succeeded', { n: 1 }, 2]);
    },
  },
  {
    name: 'runs.adopt takes over what a dead process left, for one caller, and nothing else',
    async run({ store, reopen, deadProcess }) {
      const dead = await reopen(deadProcess);
      await dead.runs.begin(run(), attempt('att_1'), 1);
      await store.runs.begin(run({ runId: 'run_2' }), attempt('att_2'), 2);
      await dead.runs.begin(run({ runId: 'run_3' }), attempt('att_3'), 3);
      await dead.runs.finish('att_3', finish('failed'), 4);
      assert.deepEqual(
        (await store.runs.abandoned()).map(({ id }) => id),
        ['att_1'],
      );
      await assert.rejects(store.runs.move('att_1', 'running', 5), { reason: 'run.state' });
      const taken = await Promise.all([1, 2, 3].map(() => store.runs.adopt('att_1')));
      assert.equal(taken.filter((one) => one !== undefined).length, 1);
      assert.deepEqual(await store.runs.abandoned(), []);
      await store.runs.move('att_1', 'running', 5);
      await assert.rejects(dead.runs.move('att_1', 'queued', 6), { reason: 'run.state' });
      for (const id of ['att_2', 'att_3', 'att_9']) assert.equal(await store.runs.adopt(id), undefined);
    },
  },
  {
    name: 'runs.requestCancel marks what is open, once, and answers it',
    async run({ store: { runs } }) {
      await runs.begin(run(), attempt('att_1'), 1);
      assert.deepEqual(
        (await runs.requestCancel(RUN_ID, 10)).map(({ id, cancelTs }) => [id, cancelTs]),
        [['att_1', 10]],
      );
      assert.equal((await runs.requestCancel(RUN_ID, 20))[0]?.cancelTs, 10);
      await runs.finish('att_1', finish('cancelled', { failure: 'cancelled' }), 30);
      assert.deepEqual(await runs.requestCancel(RUN_ID, 40), []);
      assert.equal((await runs.get(RUN_ID))?.state, 'cancelled');
    },
  },
  {
    name: 'runs.checkpoint keeps what a later process needs of an open attempt',
    async run({ store, reopen }) {
      await store.runs.begin(run(), attempt('att_1'), 1);
      await store.runs.checkpoint('att_1', { job: 7 });
      assert.deepEqual((await (await reopen()).runs.attempt('att_1'))?.checkpoint, { job: 7 });
      await store.runs.finish('att_1', finish('failed'), 2);
      await assert.rejects(store.runs.checkpoint('att_1', {}), { reason: 'run.state' });
    },
  },
  {
    name: 'runs.list answers newest first, filtered, a page at a time',
    async run({ store: { runs } }) {
      for (let n = 1; n <= 6; n++) {
        const tool = n % 2 ? 'odd' : 'even';
        const backend = n > 4 ? 'slurm' : 'local';
        await runs.begin(run({ runId: `run_${n}`, tool }), attempt(`att_${n}`, { backend }), n * 10);
        if (n < 3) await runs.finish(`att_${n}`, finish('failed', { message: 'no' }), n * 10);
      }
      const ids = async (query: Parameters<RunStore['list']>[0]) =>
        (await runs.list(query)).map(({ runId }) => runId);
      assert.deepEqual(await ids({}), ['run_6', 'run_5', 'run_4', 'run_3', 'run_2', 'run_1']);
      assert.deepEqual(await ids({ limit: 2 }), ['run_6', 'run_5']);
      assert.deepEqual(await ids({ after: 'run_5', limit: 2 }), ['run_4', 'run_3']);
      assert.deepEqual(await ids({ tool: 'odd' }), ['run_5', 'run_3', 'run_1']);
      assert.deepEqual(await ids({ tool: 'odd', state: 'failed' }), ['run_1']);
      assert.deepEqual(await ids({ state: 'failed' }), ['run_2', 'run_1']);
      assert.deepEqual(await ids({ backend: 'slurm' }), ['run_6', 'run_5']);
      assert.deepEqual(await ids({ sinceTs: 50 }), ['run_6', 'run_5']);
      await runs.begin(run({ runId: 'run_4%2' }), attempt('att_7'), 70);
      assert.deepEqual(await ids({ prefix: 'run_4' }), ['run_4%2', 'run_4']);
      assert.deepEqual(await ids({ prefix: 'run_4', tool: 'even' }), ['run_4']);
      assert.deepEqual(await ids({ prefix: 'run_%' }), []);
      await assert.rejects(runs.list({ after: 'run_9' }), { reason: 'run.unknown' });
    },
  },
  {
    name: 'artifacts.roots holds the inputs of runs and the outputs of all their attempts',
    async run({ store }) {
      const [input, output, other] = ['4', '5', '6'].map(
        (digit) => `sha256:${digit.repeat(64)}` as ObjectId,
      ) as [ObjectId, ObjectId, ObjectId];
      const plan = { ...run().plan, inputs: [{ role: 'text', artifact: input, dest: 'text' }] };
      await store.runs.begin(run({ plan }), attempt('att_1'), 1);
      const link = (artifact: ObjectId) => ({ role: 'log', type: 't', label: 'l', artifact, size: 1 });
      await store.runs.finish('att_1', finish('failed', { outputs: [link(output)] }), 2);
      await store.runs.keep(
        { runId: 'run_2', callId: 'c', preimage: { tool: 't' }, data: 1, outputs: [other] },
        3,
      );
      const roots: ObjectId[] = [];
      for await (const some of store.artifacts.roots(0)) roots.push(...some);
      assert.deepEqual(roots.sort(), [input, output, other]);
    },
  },
];

function run(fields: Partial<NewRun> = {}): NewRun {
  return {
    runId: RUN_ID,
    tool: 'text_stats',
    contract: 'v1',
    preimage: { tool: 'text_stats', params: { argv: ['wc'] } },
    args: { text: OBJECT },
    plan: {
      argv: ['wc', 'in/text'],
      env: { A: '1' },
      inputs: [],
      outputs: [],
      resources: { cpus: 1, memoryBytes: 1, wallMs: 1, outputBytes: 1 },
    },
    seenResult: null,
    ...fields,
  };
}

function attempt(id: string, fields: Partial<NewAttempt> = {}): NewAttempt {
  return { id, purpose: 'run', backend: 'local', callId: 'call_1', ...fields };
}

function finish(state: EndState, fields: Partial<AttemptFinish> = {}): AttemptFinish {
  return {
    state,
    failure: null,
    cause: null,
    exitCode: null,
    message: '',
    observed: null,
    outputs: [],
    ...fields,
  };
}

const enter = (runs: RunStore, id: string, state: AttemptState): Promise<void> =>
  state === 'queued' || state === 'running'
    ? runs.move(id, state, 1)
    : runs.finish(id, finish(state as EndState), 1);
