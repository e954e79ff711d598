// Owns: attempts in the sandbox of this machine, each from its claim to its end: the same plan, the programs of the host.
// Refuses: images, to begin without a durable claim, and to let an attempt outlive the process that executes it.
import { closeSync, existsSync, openSync, readSync, writeSync } from 'node:fs';
import { chmod, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { ATTEMPT_WORDS, withStderr } from '../../contract/attempt-words.ts';
import type { Attempt, AttemptEnd, Backend, BackendHandle } from '../../contract/backend.ts';
import { failedEnd } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import { type RunResources, WORK_FOLDER } from '../../contract/plan.ts';
import { RUN_LIMITS, runEnvironment, type Variables } from '../../contract/run-environment.ts';
import type { SandboxHandle, SandboxLimitName, SandboxResult, SandboxSpec } from '../../contract/sandbox.ts';
import { checkOutputs, type OutputProblem } from '../check-outputs.ts';
import { watchOut } from '../watch-out.ts';
import { readJson, readTail, writeOnce } from '../write-once.ts';

interface LocalBackendOptions {
  /** The folder that attempts' folders are in. */
  readonly root: string;
  /** A sandbox whose workspace is `root`; made when the first attempt needs it. */
  readonly sandbox: () => SandboxHandle;
  /** What the ENV of an image says that a plan names, though its programs are this machine's. Rejects where that is not known and must be. */
  readonly imageEnv?: (image: string) => Promise<Variables | undefined>;
  /** This process, and whether another one still runs. */
  readonly process: string;
  readonly isAlive: (process: string) => boolean;
}

interface Claim {
  readonly process: string;
}

/** Its end may be written by another process. */
const LOOK_EVERY_MS = 20;

export function createLocalBackend(options: LocalBackendOptions): Backend {
  let made: SandboxHandle | undefined;
  const sandbox = (): SandboxHandle => {
    made ??= options.sandbox();
    return made;
  };
  const running = new Map<string, Promise<unknown>>();

  const begin = (attempt: Attempt, env: Variables | undefined): void => {
    const work = executeLocal(sandbox(), attempt, env)
      .catch(() => failedEnd('infrastructure.engine', 'Cannot execute the attempt: the sandbox failed'))
      .then((end) => writeEnd(attempt, end))
      .catch(() => {})
      .finally(() => running.delete(attempt.id));
    running.set(attempt.id, work);
  };

  const handleOf = (attempt: Attempt): BackendHandle => {
    const files = localFiles(attempt.folder);
    return {
      attemptId: attempt.id,
      async wait(signal) {
        for (;;) {
          signal.throwIfAborted();
          const end = await endOf(attempt, options);
          if (end) return end;
          await pauseUnless(signal);
        }
      },
      async cancel() {
        if (await endOf(attempt, options)) return;
        await writeOnce(files.cancel, {});
        await this.wait(new AbortController().signal);
      },
      follow: (onChunk) => followStreams(files, onChunk, () => existsSync(files.end)),
    };
  };

  return {
    name: 'local',
    async start(attempt) {
      const available = await sandbox().available();
      if (!available.ok)
        throw fail('sandbox.unavailable', `Cannot run on this machine: ${available.reason}`, {
          hint: available.hint,
        });
      const { image } = attempt.plan;
      const env = image === undefined ? undefined : await options.imageEnv?.(image);
      const { claim } = localFiles(attempt.folder);
      if (await writeOnce(claim, { process: options.process })) begin(attempt, env);
      return handleOf(attempt);
    },
    async find(attempt) {
      return existsSync(localFiles(attempt.folder).claim) ? handleOf(attempt) : undefined;
    },
    async reap(isOpen) {
      const names = await readdir(options.root).catch(() => []);
      const reaped: string[] = [];
      for (const id of names.filter((name) => /^att_[a-z0-9]+$/.test(name))) {
        const attempt = { id, folder: join(options.root, id) } as Attempt;
        if (
          !existsSync(localFiles(attempt.folder).claim) ||
          (await endOf(attempt, options)) ||
          (await isOpen(id))
        )
          continue;
        await handleOf(attempt).cancel();
        reaped.push(id);
      }
      return reaped;
    },
    async close() {
      await made?.close();
      await Promise.all(running.values());
    },
  };
}

/**
 * The end that is written; of an attempt whose process died, that it is lost. One that was claimed and is no longer there
 * was removed once its end was known: whoever still waits must not wait for ever.
 */
async function endOf(attempt: Attempt, { isAlive }: LocalBackendOptions): Promise<AttemptEnd | undefined> {
  const files = localFiles(attempt.folder);
  const written = await readJson<AttemptEnd>(files.end);
  if (written) return written;
  const claim = await readJson<Claim>(files.claim);
  if (!claim) return lostEnd();
  if (isAlive(claim.process)) return undefined;
  await writeEnd(attempt, lostEnd());
  return readJson<AttemptEnd>(files.end);
}

function pauseUnless(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, LOOK_EVERY_MS);
    signal.addEventListener('abort', done);
  });
}

/** What is printed beyond this ends the attempt. */
const LOG_BYTES = 16 * 1024 * 1024;
const CANCEL_LOOK_MS = 100;

async function executeLocal(
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
  const timer = setInterval(() => existsSync(files.cancel) && control.abort('cancelled'), CANCEL_LOOK_MS);
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
async function writeEnd({ folder }: Attempt, end: AttemptEnd): Promise<boolean> {
  return writeOnce(localFiles(folder).end, end);
}

const lostEnd = (): AttemptEnd =>
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

interface LocalEvidence {
  readonly result: SandboxResult;
  readonly resources: RunResources;
  readonly cancelled: boolean;
  readonly diskFull: boolean;
  /** Why it was ended while it ran. */
  readonly over: OutputProblem | undefined;
  /** What is wrong with out/, now that nothing writes to it. */
  readonly outputs: OutputProblem | undefined;
  readonly program: string | undefined;
  /** The end of its standard error. */
  readonly stderr: Uint8Array;
}

const LIMITS: Readonly<
  Record<SandboxLimitName, (resources: RunResources) => readonly [AttemptCause, string]>
> = {
  memory: ({ memoryBytes }) => ['limit.memory', ATTEMPT_WORDS.overMemory(memoryBytes)],
  processes: () => ['limit.resources', 'Ended the attempt: it started too many processes'],
  cpu: () => ['limit.time', 'Ended the attempt: it used up its processor time'],
  file_size: () => ['limit.output_bytes', 'Ended the attempt: a file of it grew larger than it may'],
  bytes_written: () => ['limit.output_bytes', 'Ended the attempt: it wrote more bytes than it may'],
  output: () => ['limit.log_bytes', ATTEMPT_WORDS.overLog],
};

type Row = (evidence: LocalEvidence) => readonly [AttemptCause, string] | undefined;

/** The first row that holds is the end. */
const ROWS: readonly Row[] = [
  ({ result: { refused } }) => refused && ['infrastructure.engine', refused.message],
  ({ cancelled }) => (cancelled ? ['cancelled', ATTEMPT_WORDS.cancelled] : undefined),
  ({ over }) => over && [over.cause, over.message],
  ({ result: { timedOut }, resources }) =>
    timedOut ? ['limit.time', ATTEMPT_WORDS.overTime(resources.wallMs)] : undefined,
  ({ result: { limitHit }, resources }) => (limitHit === undefined ? undefined : LIMITS[limitHit](resources)),
  ({ result: { lost, aborted } }) =>
    lost || aborted ? ['infrastructure.killed', ATTEMPT_WORDS.killed] : undefined,
  ({ outputs }) => (outputs?.cause === 'limit.output_bytes' ? [outputs.cause, outputs.message] : undefined),
  ({ diskFull }) => (diskFull ? ['infrastructure.disk_full', ATTEMPT_WORDS.diskFull] : undefined),
  ({ result: { code }, program }) =>
    code === 126 || code === 127 ? ['tool.not_started', ATTEMPT_WORDS.notStarted(program)] : undefined,
  ({ result: { signal } }) => (signal === null ? undefined : ['tool.signal', ATTEMPT_WORDS.signal(signal)]),
  ({ result: { code } }) => (code === 0 ? undefined : ['tool.exit', ATTEMPT_WORDS.exit(code)]),
  ({ outputs }) => outputs && [outputs.cause, outputs.message],
];

function localVerdict(evidence: LocalEvidence): AttemptEnd {
  const { code, observed, usage } = evidence.result;
  const facts = { exitCode: code, observed: { ...observed, programs: 'host', usage } };
  for (const row of ROWS) {
    const found = row(evidence);
    if (found) return withStderr(failedEnd(found[0], found[1], facts), evidence.stderr);
  }
  return { status: 'succeeded', message: ATTEMPT_WORDS.exit(0), ...facts };
}

interface LocalFiles {
  /** Which process executes it. Durable before it begins. */
  readonly claim: string;
  /** That somebody wants it ended. */
  readonly cancel: string;
  readonly end: string;
  readonly log: string;
  readonly streams: Readonly<Record<'stdout' | 'stderr', string>>;
}

function localFiles(folder: string): LocalFiles {
  const meta = (name: string) => join(folder, 'meta', name);
  return {
    claim: meta('claim.json'),
    cancel: meta('cancel.json'),
    end: meta('end.json'),
    log: meta('log'),
    streams: { stdout: meta('stdout'), stderr: meta('stderr') },
  };
}

const CLAIM_LOOK_MS = 50;

type OnChunk = (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void;

/** From their beginning, until what `isWhole` said yes to before a last look, or until it is ended. */
function followStreams({ streams }: LocalFiles, onChunk: OnChunk, isWhole: () => boolean): () => void {
  const offsets = { stdout: 0, stderr: 0 };
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const look = (): void => {
    const last = isWhole();
    for (const stream of ['stdout', 'stderr'] as const) {
      for (let chunk = readAt(streams[stream], offsets[stream]); chunk.length > 0 && !stopped; ) {
        offsets[stream] += chunk.length;
        onChunk(stream, chunk);
        chunk = readAt(streams[stream], offsets[stream]);
      }
    }
    if (!stopped && !last) timer = setTimeout(look, CLAIM_LOOK_MS);
  };
  timer = setTimeout(look, 0);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

const PIECE = 65_536;

function readAt(path: string, position: number): Uint8Array {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const into = Buffer.allocUnsafe(PIECE);
    return into.subarray(0, readSync(descriptor, into, 0, PIECE, position));
  } catch {
    return NOTHING;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const NOTHING = new Uint8Array();
