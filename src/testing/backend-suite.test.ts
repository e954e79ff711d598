import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Backend, type BackendHandle, failedEnd } from '../contract/backend.ts';
import { BACKEND_CASES, type BackendEnvironment } from './backend-suite.ts';
import { failingCases } from './conformance.ts';
import { createSmallEngine, type SmallJob, type SmallWays, SOUND } from './small-backend-for-tests.ts';

interface Break {
  readonly cases: RegExp;
  readonly ways?: Partial<SmallWays>;
  backend?(sound: Backend, engine: ReturnType<typeof createSmallEngine>): Partial<Backend>;
  handle?(sound: SmallJob): Partial<BackendHandle>;
}

const BROKEN: Readonly<Record<string, Break>> = {
  'executes what is started twice twice': {
    cases: /by many at once/,
    backend: (_, { jobs, view }) => ({
      async start(attempt) {
        jobs.delete(attempt.id);
        return view().start(attempt);
      },
    }),
  },
  'executes what has ended again': {
    cases: /start of an attempt that has ended/,
    backend: (sound, { jobs, view }) => ({
      async start(attempt) {
        const earlier = jobs.get(attempt.id);
        if (!earlier) return sound.start(attempt);
        await earlier.ended;
        jobs.delete(attempt.id);
        return view().start(attempt);
      },
    }),
  },
  'takes two attempts of a run for one': {
    cases: /two attempts of one run apart/,
    backend: (sound) => ({ start: (attempt) => sound.start({ ...attempt, id: attempt.runId }) }),
  },
  'joins arguments for a shell': {
    cases: /without a shell/,
    ways: {
      spawnAttempt: (attempt) =>
        SOUND.spawnAttempt({
          ...attempt,
          plan: { ...attempt.plan, argv: ['/bin/sh', '-c', attempt.plan.argv.join(' ')] },
        }),
    },
  },
  'hands its own environment on': {
    cases: /nothing of the environment/,
    ways: {
      spawnAttempt: (attempt) =>
        SOUND.spawnAttempt({
          ...attempt,
          plan: { ...attempt.plan, env: { ...(process.env as Record<string, string>) } },
        }),
    },
  },
  'forgets the environment of the plan': {
    cases: /with its environment/,
    ways: {
      spawnAttempt: (attempt) => SOUND.spawnAttempt({ ...attempt, plan: { ...attempt.plan, env: {} } }),
    },
  },
  'finds what never was': {
    cases: /never got here/,
    backend: (sound) => ({ find: (attempt) => sound.start(attempt) }),
  },
  'finds nothing': { cases: /adopts an attempt under way/, backend: () => ({ find: async () => undefined }) },
  'forgets what has ended': {
    cases: /answers how an attempt ended/,
    backend: (_, { jobs }) => ({
      async find({ id }) {
        const job = jobs.get(id);
        void job?.ended.then(() => jobs.delete(id));
        return job;
      },
    }),
  },
  'does not stop waiting': {
    cases: /reason of its signal/,
    handle: (job) => ({ wait: () => job.wait(new AbortController().signal) }),
  },
  'ends what is no longer waited for': {
    cases: /reason of its signal/,
    handle: (job) => ({
      wait(signal) {
        signal.addEventListener('abort', () => void job.cancel());
        return job.wait(signal);
      },
    }),
  },
  'leaves children behind': {
    cases: /cancel ends an attempt/,
    ways: { killGroup: (child) => void child.kill('SIGKILL') },
  },
  'cancels what has ended': {
    cases: /leaves an attempt that has ended/,
    handle: (job) => {
      let cancelled = false;
      return {
        async cancel() {
          cancelled = true;
        },
        wait: async (signal) => (cancelled ? failedEnd('cancelled', 'cancelled') : job.wait(signal)),
      };
    },
  },
  'says tool of what was cancelled': {
    cases: /cancel ends an attempt/,
    handle: (job) => ({
      wait: async (signal) => {
        const end = await job.wait(signal);
        return end.cause === 'cancelled' ? failedEnd('tool.signal', 'SIGKILL', { exitCode: 137 }) : end;
      },
    }),
  },
  'keeps what a program said to itself': {
    cases: /in the words of every backend/,
    handle: (job) => ({
      async wait(signal) {
        const { stderr: _, ...end } = await job.wait(signal);
        return end;
      },
    }),
  },
  'has words of its own': {
    cases: /in the words of every backend/,
    handle: (job) => ({ wait: async (signal) => ({ ...(await job.wait(signal)), message: 'over' }) }),
  },
  'gives late followers only what is new': {
    cases: /to each follower/,
    handle: (job) => ({
      follow(onChunk) {
        let late = false;
        const stop = job.follow((stream, chunk) => late && onChunk(stream, chunk));
        late = true;
        return stop;
      },
    }),
  },
  'mixes the streams': {
    cases: /to each follower/,
    handle: (job) => ({ follow: (onChunk) => job.follow((_, chunk) => onChunk('stdout', chunk)) }),
  },
  'tells nothing before the end': {
    cases: /to each follower/,
    handle: (job) => ({
      follow(onChunk) {
        void job.ended.then(() => job.follow(onChunk));
        return () => {};
      },
    }),
  },
  'goes on telling who has stopped': {
    cases: /to each follower/,
    handle: (job) => ({
      follow(onChunk) {
        job.follow(onChunk);
        return () => {};
      },
    }),
  },
  'keeps no log': { cases: /keeps the outputs and the log/, ways: { writeLog: false } },
  'reaps what is open': {
    cases: /^reap/,
    backend: (sound) => ({ reap: () => sound.reap(async () => false) }),
  },
  'reaps nothing': { cases: /^reap/, backend: () => ({ reap: async () => [] }) },
  'takes every end for a success': {
    cases: /tool\.exit of/,
    ways: { judge: async () => ({ status: 'succeeded', exitCode: 0, message: '' }) },
  },
  'takes no code for the code 0': {
    cases: /tool\.signal of a program that a signal/,
    ways: { judge: (attempt, code) => SOUND.judge(attempt, code ?? 0, null) },
  },
  'keeps no limit of time': { cases: /limit\.time of a program that runs/, ways: { limits: false } },
  'looks at memory by the exit code': { cases: /limit\.memory of a child/, ways: { limits: false } },
  'looks at what was written at the end only': { cases: /would go on for ever/, ways: { limits: false } },
  'does not look at outputs': {
    cases: /tool\.outputs of/,
    ways: {
      judge: async (attempt, code, signal) =>
        code === 0 ? { status: 'succeeded', exitCode: 0, message: '' } : SOUND.judge(attempt, code, signal),
    },
  },
  'shows where it runs': {
    cases: /tool\.exit of/,
    ways: {
      judge: async (attempt, code, signal) => {
        const end = await SOUND.judge(attempt, code, signal);
        return { ...end, message: `${end.message} in ${attempt.folder}` };
      },
    },
  },
};

async function openEnvironment(broken?: Break): Promise<BackendEnvironment> {
  const root = mkdtempSync(join(tmpdir(), 'haft-backend-suite-'));
  const engine = createSmallEngine({ ...SOUND, ...broken?.ways });
  const reopen = (): Backend => {
    const sound = engine.view();
    const backend = { ...sound, ...broken?.backend?.(sound, engine) };
    const handled = <H extends BackendHandle | undefined>(handle: H): H =>
      handle && broken?.handle ? { ...handle, ...broken.handle(handle as unknown as SmallJob) } : handle;
    return {
      ...backend,
      start: async (attempt) => handled(await backend.start(attempt)),
      find: async (attempt) => handled(await backend.find(attempt)),
    };
  };
  return {
    backend: reopen(),
    reopen: async () => reopen(),
    root,
    contained: false,
    patienceMs: broken ? 2_500 : 20_000,
    async close() {
      await engine.close();
      rmSync(root, { recursive: true });
    },
  };
}

describe('backendSuite', { concurrency: 4 }, () => {
  it('passes on a sound backend', async () => {
    assert.deepEqual(await failingCases(BACKEND_CASES, () => openEnvironment()), []);
  });
  for (const [fault, broken] of Object.entries(BROKEN)) {
    it(`fails on a backend that ${fault}`, async () => {
      const cases = BACKEND_CASES.filter((one) => broken.cases.test(one.name));
      assert.ok(cases.length > 0);
      assert.deepEqual(
        await failingCases(cases, () => openEnvironment(broken)),
        cases.map((one) => one.name),
      );
    });
  }
});
