// Owns: one attempt on this machine from its claim to its end: in the sandbox, watched, its words kept as they come.
// Refuses: to begin without a durable claim, and to end without a written one.
import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Attempt, type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import { WORK_FOLDER } from '../../contract/plan.ts';
import { RUN_LIMITS, runEnvironment, type Variables } from '../../contract/run-environment.ts';
import type { SandboxHandle, SandboxResult, SandboxSpec } from '../../contract/sandbox.ts';
import { checkOutputs, type OutputProblem } from '../check-outputs.ts';
import { readTail } from '../read-tail.ts';
import { watchOut } from '../watch-out.ts';
import { writeOnce } from '../write-once.ts';
import { type LocalFiles, localFiles } from './local-files.ts';
import { localVerdict } from './local-verdict.ts';

/** What is printed beyond this ends the attempt. */
const LOG_BYTES = 16 * 1024 * 1024;
const LOOK_EVERY_MS = 100;

export async function executeLocal(
  sandbox: SandboxHandle,
  attempt: Attempt,
  imageEnv: Variables | undefined,
): Promise<AttemptEnd> {
  const files = localFiles(attempt.folder);
  await writeFile(files.log, '');
  await chmod(join(attempt.folder, 'out'), 0o700);
  const words = openWords(files);
  const control = new AbortController();
  let over: OutputProblem | undefined;
  const watch = watchOut({
    out: join(attempt.folder, 'out'),
    outputBytes: attempt.plan.resources.outputBytes,
    onOver(problem) {
      over = problem;
      control.abort(problem);
    },
  });
  const timer = setInterval(() => existsSync(files.cancel) && control.abort('cancelled'), LOOK_EVERY_MS);
  try {
    const result: SandboxResult = await sandbox.run({
      ...specOf(attempt, imageEnv),
      signal: control.signal,
      onOutput: words.take,
    });
    const { diskFull } = await watch.stop();
    const outputs = await checkOutputs(join(attempt.folder, 'out'), attempt.plan);
    const cancelled = control.signal.reason === 'cancelled' && result.aborted;
    return localVerdict({
      result,
      resources: attempt.plan.resources,
      cancelled,
      diskFull,
      over,
      outputs,
      program: attempt.plan.argv[0],
      stderr: await readTail(files.streams.stderr),
    });
  } finally {
    clearInterval(timer);
    await watch.stop();
    words.close();
  }
}

/** Writes the end down, unless there is one; answers the one that is there. */
export async function writeEnd({ folder }: Attempt, end: AttemptEnd): Promise<boolean> {
  return writeOnce(localFiles(folder).end, end);
}

export const lostEnd = (): AttemptEnd =>
  failedEnd('lost', 'Lost the attempt: the process that executed it died, and the program with it');

function specOf({ plan, folder }: Attempt, imageEnv: Variables | undefined): SandboxSpec {
  const { memoryBytes, wallMs } = plan.resources;
  const { openFiles, lockedBytes, stackBytes } = RUN_LIMITS;
  return {
    argv: plan.argv as [string, ...string[]],
    cwd: WORK_FOLDER,
    env: runEnvironment(imageEnv, plan.env),
    apart: true,
    binds: [
      { path: join(folder, 'in'), at: `${WORK_FOLDER}/in` },
      { path: join(folder, 'out'), at: `${WORK_FOLDER}/out`, writable: true },
    ],
    network: 'none',
    timeoutMs: wallMs,
    captureBytes: 0,
    limits: {
      memoryBytes,
      // What is too much is noticed by whoever watches out/, as everywhere.
      fileSizeBytes: Number.POSITIVE_INFINITY,
      tmpBytes: memoryBytes,
      outputBytes: LOG_BYTES,
      openFiles,
      lockedBytes,
      stackBytes,
    },
  };
}

function openWords({ log, streams }: LocalFiles) {
  const all = openSync(log, 'a');
  const each = { stdout: openSync(streams.stdout, 'a'), stderr: openSync(streams.stderr, 'a') };
  return {
    take(stream: 'stdout' | 'stderr', chunk: Uint8Array): void {
      writeSync(each[stream], chunk);
      writeSync(all, chunk);
    },
    close(): void {
      for (const descriptor of [all, each.stdout, each.stderr]) closeSync(descriptor);
    },
  };
}
