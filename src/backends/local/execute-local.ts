// Owns: one attempt on this machine from its claim to its end: in the sandbox, watched, its words kept as they come.
// Refuses: to begin without a durable claim, and to end without a written one.
import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Attempt, type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import { RUN_ENV, WORK_FOLDER } from '../../contract/plan.ts';
import type { SandboxHandle, SandboxResult, SandboxSpec } from '../../contract/sandbox.ts';
import { checkOutputs, type OutputProblem } from '../check-outputs.ts';
import { roomFor, watchOut } from '../watch-out.ts';
import { writeOnce } from '../write-once.ts';
import { type LocalFiles, localFiles } from './local-files.ts';
import { localVerdict } from './local-verdict.ts';

/** What is printed beyond this ends the attempt. */
const LOG_BYTES = 16 * 1024 * 1024;
const LOOK_EVERY_MS = 100;

export async function executeLocal(sandbox: SandboxHandle, attempt: Attempt): Promise<AttemptEnd> {
  const files = localFiles(attempt.folder);
  await writeFile(files.log, '');
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
      ...specOf(attempt, sandbox),
      signal: control.signal,
      onOutput: words.take,
    });
    const { diskFull } = await watch.stop();
    const outputs = await checkOutputs(join(attempt.folder, 'out'), attempt.plan);
    const cancelled = control.signal.reason === 'cancelled' && result.aborted;
    return localVerdict({ result, resources: attempt.plan.resources, cancelled, diskFull, over, outputs });
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

function specOf({ plan, folder }: Attempt, sandbox: SandboxHandle): SandboxSpec {
  const { memoryBytes, wallMs, outputBytes } = plan.resources;
  return {
    argv: plan.argv as [string, ...string[]],
    cwd: WORK_FOLDER,
    env: { PATH: sandbox.baseEnv.PATH ?? '', ...RUN_ENV, HOSTNAME: HOST_NAME, ...plan.env },
    visible: [],
    writable: [],
    binds: [
      { path: join(folder, 'in'), at: `${WORK_FOLDER}/in` },
      { path: join(folder, 'out'), at: `${WORK_FOLDER}/out`, writable: true },
    ],
    network: 'none',
    timeoutMs: wallMs,
    captureBytes: 0,
    limits: { memoryBytes, fileSizeBytes: roomFor(outputBytes) + SLACK, outputBytes: LOG_BYTES },
  };
}

/** What is too much is noticed by whoever watches out/, which knows better words for it. */
const SLACK = 64 * 1024 * 1024;

/** As every backend says it. */
const HOST_NAME = 'haft';

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
