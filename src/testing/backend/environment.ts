// Owns: what a backend's cases run against, and how they make attempts of a few lines of shell.
// Refuses: engines; the environment brings its own, with a root folder for attempts and an image that has `sh`.
import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../base/new-id.ts';
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import type { Attempt, AttemptEnd, Backend, BackendHandle } from '../../contract/backend.ts';
import type { ExecutionPlan, RunResources } from '../../contract/plan.ts';
import { type ConformanceCase, type Environment, inTime } from '../conformance.ts';

export interface BackendEnvironment extends Environment {
  readonly backend: Backend;
  /** The same backend as a later process has it. The first is not closed: it is as good as killed. */
  reopen(): Promise<Backend>;
  /** An absolute folder in which attempts are made. */
  readonly root: string;
  /** Pinned, with `/bin/sh`, `cat`, `head`, `tail`, `sleep`, `mkdir`, `chmod`, `mkfifo` and `ln`; absent where plans name no image. */
  readonly image?: string;
  /** Causes that cannot be told on this machine, each with a reason in the test that says so. */
  readonly lacks?: readonly AttemptCause[];
  /** Whether inputs are read-only and the network is away; a leaf that contains nothing says false. */
  readonly contained?: boolean;
  /** How long an attempt may take before the leaf counts as hung; 60 s by default. */
  readonly patienceMs?: number;
}

export type BackendCase = ConformanceCase<BackendEnvironment>;

export interface Wanted {
  /** Names below out/, folders with a slash at their end; each is declared as an output of the same role. */
  readonly outputs?: readonly string[];
  readonly resources?: Partial<RunResources>;
  readonly argv?: readonly string[];
  readonly env?: ExecutionPlan['env'];
}

const RESOURCES: RunResources = {
  cpus: 1,
  memoryBytes: 128 * 1024 * 1024,
  wallMs: 120_000,
  outputBytes: 16 * 1024 * 1024,
};

/** An attempt that runs `script` with sh in the folder that has `in/` and `out/`. `in/greeting` says hello. */
export async function makeAttempt(
  { root, image }: Pick<BackendEnvironment, 'root' | 'image'>,
  script: string,
  { outputs = [], resources = {}, argv = ['/bin/sh', '-c', script], env = {} }: Wanted = {},
): Promise<Attempt> {
  const id = newId('att');
  const folder = join(root, id);
  for (const name of ['in', 'out', 'meta']) await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'in/greeting'), 'hello\n');
  await chmod(join(folder, 'in/greeting'), 0o444);
  const plan: ExecutionPlan = {
    ...(image === undefined ? {} : { image }),
    argv,
    env,
    inputs: [{ role: 'greeting', artifact: `sha256:${HELLO}`, dest: 'greeting' }],
    outputs: outputs.map((src) => ({ role: src, type: 'TEXT', label: src, src })),
    resources: { ...RESOURCES, ...resources },
  };
  return { id, runId: `run_${'0'.repeat(64)}`, plan, folder };
}

/** The sha256 of `hello` and a line feed. */
const HELLO = '5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03';

export const outputOf = (attempt: Attempt, name: string) =>
  readFile(join(attempt.folder, 'out', name), 'utf8');
export const logOf = (attempt: Attempt) => readFile(join(attempt.folder, 'meta/log'), 'utf8');

export const never = (): AbortSignal => new AbortController().signal;

/** The end of an attempt; a leaf that hangs fails its case instead of hanging the suite. */
export function endOf(
  handle: BackendHandle,
  { patienceMs }: Pick<BackendEnvironment, 'patienceMs'>,
): Promise<AttemptEnd> {
  return within(handle.wait(never()), patienceMs);
}

export const within = <T>(promise: Promise<T>, ms = 60_000): Promise<T> => inTime(promise, ms);

/** Follows an attempt until `text` has come on a stream. */
export async function seen(
  handle: BackendHandle,
  stream: 'stdout' | 'stderr',
  text: string,
  { patienceMs }: Pick<BackendEnvironment, 'patienceMs'>,
): Promise<void> {
  const found = Promise.withResolvers<void>();
  let heard = '';
  const stop = handle.follow((from, chunk) => {
    if (from !== stream) return;
    heard += Buffer.from(chunk).toString();
    if (heard.includes(text)) found.resolve();
  });
  try {
    await within(found.promise, patienceMs);
  } finally {
    stop();
  }
}

export function assertSucceeded(end: AttemptEnd): void {
  assert.deepEqual(
    { status: end.status, failure: end.failure, cause: end.cause, exitCode: end.exitCode },
    { status: 'succeeded', failure: undefined, cause: undefined, exitCode: 0 },
    end.message,
  );
}
