import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkOutputs } from '../backends/check-outputs.ts';
import {
  type Attempt,
  type AttemptEnd,
  type Backend,
  type BackendHandle,
  failedEnd,
} from '../contract/backend.ts';
import { BACKEND_CASES, type BackendEnvironment } from './backend-suite.ts';
import { failingCases } from './conformance.ts';

type Follower = Parameters<BackendHandle['follow']>[0];

interface Job extends BackendHandle {
  readonly attempt: Attempt;
  readonly child: ChildProcess;
  readonly ended: Promise<AttemptEnd>;
  kill(cause: 'cancelled' | 'limit.time' | 'limit.memory' | 'limit.output_bytes'): void;
}

/** What each broken one changes. */
interface Ways {
  spawnAttempt(attempt: Attempt): ChildProcess;
  killGroup(child: ChildProcess): void;
  judge(attempt: Attempt, code: number | null, signal: string | null): Promise<AttemptEnd>;
  limits: boolean;
  writeLog: boolean;
}

const SIGNALS: Readonly<Record<string, number>> = { SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 };

const SOUND: Ways = {
  spawnAttempt: ({ plan, folder }) =>
    spawn(plan.argv[0]!, plan.argv.slice(1), {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', ...plan.env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  killGroup: (child) => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // Nothing of it is left.
    }
  },
  async judge({ plan, folder }, code, signal) {
    if (signal) return failedEnd('tool.signal', signal, { exitCode: 128 + (SIGNALS[signal] ?? 0) });
    if (code !== 0) return failedEnd('tool.exit', `code ${code}`, { exitCode: code });
    const problem = await checkOutputs(join(folder, 'out'), plan);
    if (problem) return failedEnd(problem.cause, problem.message, { exitCode: 0 });
    return { status: 'succeeded', exitCode: 0, message: 'done' };
  },
  limits: true,
  writeLog: true,
};

/** A small backend that is right: its engine lives in this process and outlives every view of it. */
function createEngine(ways: Ways) {
  const jobs = new Map<string, Job>();
  const all = new Set<Job>();
  const begin = (attempt: Attempt): Job => {
    const job = runJob(attempt, ways);
    jobs.set(attempt.id, job);
    all.add(job);
    return job;
  };
  const view = (): Backend => ({
    name: 'small',
    start: async (attempt) => jobs.get(attempt.id) ?? begin(attempt),
    find: async ({ id }) => jobs.get(id),
    async reap(isOpen) {
      const gone: string[] = [];
      for (const [id, job] of [...jobs]) {
        if (await isOpen(id)) continue;
        await job.cancel();
        gone.push(id);
        jobs.delete(id);
      }
      return gone;
    },
    close: async () => {},
  });
  const close = async () => {
    for (const { child } of all) SOUND.killGroup(child);
    await Promise.all([...all].map((job) => job.ended));
  };
  return { jobs, view, close };
}

function runJob(attempt: Attempt, ways: Ways): Job {
  const child = ways.spawnAttempt(attempt);
  const said: (readonly ['stdout' | 'stderr', Buffer])[] = [];
  const followers = new Set<Follower>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => {
      said.push([stream, chunk]);
      for (const follower of followers) follower(stream, chunk);
    });
  }
  let killed: Parameters<Job['kill']>[0] | undefined;
  const kill: Job['kill'] = (cause) => {
    killed ??= cause;
    ways.killGroup(child);
  };
  const look = setInterval(
    () => void overLimit(attempt, child).then((cause) => ways.limits && cause && kill(cause)),
    20,
  );
  const timer = setTimeout(() => ways.limits && kill('limit.time'), attempt.plan.resources.wallMs);
  const { promise: closed, resolve } =
    Promise.withResolvers<readonly [number | null, string | null, Error?]>();
  child.once('error', (error) => resolve([null, null, error]));
  child.once('close', (code, signal) => resolve([code, signal]));
  const ended = closed.then(async ([code, signal, error]) => {
    clearInterval(look);
    clearTimeout(timer);
    if (!error) ways.killGroup(child);
    if (ways.writeLog)
      await writeFile(join(attempt.folder, 'meta/log'), Buffer.concat(said.map(([, chunk]) => chunk)));
    if (error) return failedEnd('tool.not_started', 'Cannot start the program');
    return killed ? failedEnd(killed, killed) : ways.judge(attempt, code, signal);
  });
  return {
    attempt,
    attemptId: attempt.id,
    child,
    ended,
    kill,
    async wait(signal) {
      signal.throwIfAborted();
      const { promise, reject } = Promise.withResolvers<never>();
      const abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort);
      return Promise.race([ended, promise]).finally(() => signal.removeEventListener('abort', abort));
    },
    async cancel() {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) kill('cancelled');
      await ended;
    },
    follow(onChunk) {
      for (const [stream, chunk] of said) onChunk(stream, chunk);
      followers.add(onChunk);
      return () => void followers.delete(onChunk);
    },
  };
}

async function overLimit(
  { folder, plan }: Attempt,
  child: ChildProcess,
): Promise<Parameters<Job['kill']>[0] | undefined> {
  const problem = await checkOutputs(join(folder, 'out'), plan);
  if (problem?.cause === 'limit.output_bytes') return problem.cause;
  return groupMemory(child.pid) > plan.resources.memoryBytes ? 'limit.memory' : undefined;
}

function groupMemory(group: number | undefined): number {
  let total = 0;
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      if (Number(fields[2]) === group) total += Number(fields[21]) * 4096;
    } catch {
      // It has ended meanwhile.
    }
  }
  return total;
}

interface Break {
  readonly cases: RegExp;
  readonly ways?: Partial<Ways>;
  backend?(sound: Backend, engine: ReturnType<typeof createEngine>): Partial<Backend>;
  handle?(sound: Job): Partial<BackendHandle>;
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
  const engine = createEngine({ ...SOUND, ...broken?.ways });
  const reopen = (): Backend => {
    const sound = engine.view();
    const backend = { ...sound, ...broken?.backend?.(sound, engine) };
    const handled = <H extends BackendHandle | undefined>(handle: H): H =>
      handle && broken?.handle ? { ...handle, ...broken.handle(handle as unknown as Job) } : handle;
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
