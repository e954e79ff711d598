// Owns: the backend `bare`: programs of this machine as they are, a process group for each attempt.
// Refuses: containment, and to outlive this process: it is for machines that are thrown away after a run.
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { checkOutputs } from '../../src/backends/check-outputs.ts';
import { watchOut } from '../../src/backends/watch-out.ts';
import { orAborted } from '../../src/base/or-aborted.ts';
import { ATTEMPT_WORDS, withStderr } from '../../src/contract/attempt-words.ts';
import {
  type Attempt,
  type AttemptEnd,
  type Backend,
  type BackendHandle,
  type BackendKind,
  failedEnd,
} from '../../src/contract/backend.ts';
import { runEnvironment } from '../../src/contract/run-environment.ts';

declare module '../../src/contract/policy.ts' {
  interface RunsPolicy {
    readonly bare?: { readonly nice?: number };
  }
}

export const bare: BackendKind = {
  name: 'bare',
  images: 'none',
  here: true,
  settings: () => ({
    is: 'map',
    doc: 'The programs of the bare backend.',
    keys: { nice: { is: 'number', doc: 'How far they stand back.', min: 0, max: 19, default: '0' } },
  }),
  open: async (_site, { bare: { nice = 0 } = {} }) => createBareBackend(nice, new Map()),
};

/** `jobs` is the engine: what it holds is there for whoever opens it again. */
export function createBareBackend(nice: number, jobs: Map<string, BackendHandle>): Backend {
  return {
    name: 'bare',
    // The same attempt id never executes twice.
    async start(attempt) {
      const job = jobs.get(attempt.id) ?? begin(attempt, nice);
      jobs.set(attempt.id, job);
      return job;
    },
    find: async ({ id }) => jobs.get(id),
    async reap(isOpen) {
      const gone: string[] = [];
      for (const [id, job] of [...jobs]) {
        if (await isOpen(id)) continue;
        await job.cancel();
        jobs.delete(id);
        gone.push(id);
      }
      return gone;
    },
    close: async () => {},
  };
}

function begin({ id, plan, folder }: Attempt, nice: number): BackendHandle {
  const child = spawn('nice', ['-n', String(nice), ...plan.argv], {
    cwd: folder,
    env: runEnvironment(undefined, plan.env),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: (readonly ['stdout' | 'stderr', Buffer])[] = [];
  const followers = new Set<Parameters<BackendHandle['follow']>[0]>();
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].on('data', (chunk: Buffer) => {
      said.push([stream, chunk]);
      for (const follower of followers) follower(stream, chunk);
    });
  let over: AttemptEnd | undefined;
  const kill = (why?: AttemptEnd) => {
    over ??= why;
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // Nothing of it is left.
    }
  };
  const { wallMs, outputBytes } = plan.resources;
  const overTime = () => kill(failedEnd('limit.time', ATTEMPT_WORDS.overTime(wallMs)));
  const timer = setTimeout(overTime, wallMs);
  const out = join(folder, 'out');
  const watch = watchOut({ out, outputBytes, onOver: (why) => kill(failedEnd(why.cause, why.message)) });
  const ended = (async (): Promise<AttemptEnd> => {
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
      child.once('close', (...how) => resolve(how)),
    );
    kill();
    clearTimeout(timer);
    await watch.stop();
    const words = (of: readonly string[]) =>
      Buffer.concat(said.flatMap(([stream, chunk]) => (of.includes(stream) ? [chunk] : [])));
    await writeFile(join(folder, 'meta/log'), words(['stdout', 'stderr']));
    if (over) return over;
    if (code !== 0) {
      const exitCode = signal ? 128 + constants.signals[signal] : code;
      const [cause, message] = signal
        ? (['tool.signal', ATTEMPT_WORDS.signal(signal)] as const)
        : (['tool.exit', ATTEMPT_WORDS.exit(code)] as const);
      return withStderr(failedEnd(cause, message, { exitCode }), words(['stderr']));
    }
    const wrong = await checkOutputs(out, plan);
    if (wrong) return failedEnd(wrong.cause, wrong.message, { exitCode: 0 });
    return { status: 'succeeded', exitCode: 0, message: ATTEMPT_WORDS.exit(0) };
  })();
  return {
    attemptId: id,
    wait: (signal) => orAborted(ended, signal),
    async cancel() {
      if (child.exitCode === null && child.signalCode === null)
        kill(failedEnd('cancelled', ATTEMPT_WORDS.cancelled));
      await ended;
    },
    follow(onChunk) {
      for (const [stream, chunk] of said) onChunk(stream, chunk);
      followers.add(onChunk);
      return () => void followers.delete(onChunk);
    },
  };
}
