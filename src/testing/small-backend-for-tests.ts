// Owns: for tests of the backend suite, a small backend that is right, made of ways that a test can break one by one.
// Refuses: containment, and to outlive this process; the engine lives in it, whatever views of it are open.

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkOutputs } from '../backends/check-outputs.ts';
import { roomFor } from '../backends/watch-out.ts';
import { ignoreErrors } from '../base/ignore-errors.ts';
import { ATTEMPT_WORDS, withStderr } from '../contract/attempt-words.ts';
import {
  type Attempt,
  type AttemptEnd,
  type Backend,
  type BackendHandle,
  failedEnd,
} from '../contract/backend.ts';

type Follower = Parameters<BackendHandle['follow']>[0];

export interface SmallJob extends BackendHandle {
  readonly attempt: Attempt;
  readonly child: ChildProcess;
  readonly ended: Promise<AttemptEnd>;
  kill(cause: 'cancelled' | 'limit.time' | 'limit.memory' | 'limit.output_bytes'): void;
}

/** What each broken one changes. */
export interface SmallWays {
  spawnAttempt(attempt: Attempt): ChildProcess;
  killGroup(child: ChildProcess): void;
  judge(attempt: Attempt, code: number | null, signal: string | null): Promise<AttemptEnd>;
  limits: boolean;
  writeLog: boolean;
}

const SIGNALS: Readonly<Record<string, number>> = { SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 };

export const SOUND: SmallWays = {
  spawnAttempt: ({ plan, folder }) =>
    spawn(plan.argv[0]!, plan.argv.slice(1), {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', ...plan.env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  killGroup: (child) => void ignoreErrors(() => process.kill(-child.pid!, 'SIGKILL')),
  async judge({ plan, folder }, code, signal) {
    if (signal)
      return failedEnd('tool.signal', ATTEMPT_WORDS.signal(signal), {
        exitCode: 128 + (SIGNALS[signal] ?? 0),
      });
    if (code !== 0) return failedEnd('tool.exit', ATTEMPT_WORDS.exit(code), { exitCode: code });
    const problem = await checkOutputs(join(folder, 'out'), plan);
    if (problem) return failedEnd(problem.cause, problem.message, { exitCode: 0 });
    return { status: 'succeeded', exitCode: 0, message: ATTEMPT_WORDS.exit(0) };
  },
  limits: true,
  writeLog: true,
};

/** A small backend that is right: its engine lives in this process and outlives every view of it. */
export function createSmallEngine(ways: SmallWays) {
  const jobs = new Map<string, SmallJob>();
  const all = new Set<SmallJob>();
  const begin = (attempt: Attempt): SmallJob => {
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

function runJob(attempt: Attempt, ways: SmallWays): SmallJob {
  const child = ways.spawnAttempt(attempt);
  const said: (readonly ['stdout' | 'stderr', Buffer])[] = [];
  const followers = new Set<Follower>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => {
      said.push([stream, chunk]);
      for (const follower of followers) follower(stream, chunk);
    });
  }
  let killed: Parameters<SmallJob['kill']>[0] | undefined;
  const kill: SmallJob['kill'] = (cause) => {
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
    if (killed) return failedEnd(killed, killed === 'cancelled' ? ATTEMPT_WORDS.cancelled : killed);
    const words = said.filter(([stream]) => stream === 'stderr').map(([, chunk]) => chunk);
    return withStderr(await ways.judge(attempt, code, signal), Buffer.concat(words));
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
): Promise<Parameters<SmallJob['kill']>[0] | undefined> {
  // While it runs, only what there is no room for counts.
  const resources = { ...plan.resources, outputBytes: roomFor(plan.resources.outputBytes) };
  const problem = await checkOutputs(join(folder, 'out'), { ...plan, resources });
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
