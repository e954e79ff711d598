// Owns: one attempt that this process conducts, from its intent to its end in the store.
// Refuses: to call it a success before exactly the declared outputs are artifacts, and to leave it open.
import { orAborted } from '../../base/or-aborted.ts';
import { type FailureClass, reasonOfEnd } from '../../contract/attempt-cause.ts';
import { ATTEMPT_WORDS } from '../../contract/attempt-words.ts';
import type { AttemptEnd, BackendHandle } from '../../contract/backend.ts';
import { type Failure, fail, isFailure, type Reason } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { AttemptRecord, LinkedOutput } from '../../contract/run.ts';
import type { AttemptFinish, EndState } from '../../contract/run-store.ts';
import type { ConductedAttempt, RunData, RunOutcome, RunRequest } from '../../contract/runs.ts';
import { LOG_ROLE } from '../../contract/toolpack.ts';
import { backendOf, isRelease, pauseOf, type RunSite } from './run-site.ts';

/** How often the owner looks whether somebody wants its attempt to end. */
const LOOK_MS = 250;

const FINISH_TRIES = 5;

export async function conductAttempt(
  site: RunSite,
  attempt: AttemptRecord,
  request: RunRequest,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const { folders, artifacts } = await site.parts();
  const { plan, placement } = request.ticket;
  const linked = new Map<string, LinkedOutput>();
  const cancelling = new AbortController();
  const cancelled = AbortSignal.any([signal, cancelling.signal]);
  let end: AttemptEnd | undefined;
  let released = false;
  let running: Promise<{ readonly exitCode: number | null }> | undefined;

  const execute = async (): Promise<{ readonly exitCode: number | null }> => {
    cancelled.throwIfAborted();
    const folder = await folders.prepare(attempt.id, plan);
    const backend = await backendOf(site, attempt.backend);
    const handle = await backend.start({
      id: attempt.id,
      runId: attempt.runId,
      tool: request.tool,
      plan,
      folder,
      ...(placement ? { placement } : {}),
    });
    if (attempt.state !== 'running') await site.store.move(attempt.id, 'running', site.clock.now());
    request.onStarted?.(attempt);
    end = await follow(handle, request, cancelled);
    if (end.status !== 'succeeded') throw fail('run.failed', end.message);
    return { exitCode: end.exitCode };
  };

  const conducted: ConductedAttempt = {
    id: attempt.id,
    ticket: request.ticket,
    args: request.args,
    checkpointed: attempt.checkpoint,
    signal: cancelled,
    execute() {
      running ??= execute();
      return running;
    },
    async link(role) {
      // The program has ended: what lies there stays what it is.
      const known = linked.get(role);
      if (known) return known;
      const output = plan.outputs.find((one) => one.role === role);
      if (!output) throw fail('run.outputs', `Cannot link the output "${role}": the tool did not declare it`);
      if (end?.status !== 'succeeded')
        throw fail('run.outputs', `Cannot link the output "${role}": the plan has not been executed`);
      const { id, size } = await folders.collect(attempt.id, output.src);
      const link = { role, type: output.type, label: output.label, artifact: id, size };
      linked.set(role, link);
      return link;
    },
    async read(role, maxBytes) {
      const link = linked.get(role);
      if (!link) throw fail('run.outputs', `Cannot read the output "${role}": it is not linked`);
      return (await artifacts.read(link.artifact, { start: 0, end: maxBytes })).bytes;
    },
    log: (text) => folders.note(attempt.id, text),
    checkpoint: (state) => site.store.checkpoint(attempt.id, state),
  };

  const stopLooking = lookForCancel(site, attempt.id, cancelling);
  try {
    const result = await orAborted(request.conduct(conducted), cancelled);
    refuseIncomplete(request, end, linked);
    const outputs = [
      ...plan.outputs.map(({ role }) => linked.get(role) as LinkedOutput),
      await logOf(site, attempt),
    ];
    const data: RunData = {
      result,
      outputs: outputs.map(({ artifact, ...rest }) => ({ ...rest, artifact_id: artifact })),
    };
    const done = endOf(end as AttemptEnd);
    await site.store.finish(
      attempt.id,
      { ...done, state: 'succeeded', failure: null, outputs, data: { ...data } },
      site.clock.now(),
    );
    return { data, attemptId: attempt.id, facts: { ...factsOf(attempt, done), outputs: digestsOf(outputs) } };
  } catch (thrown) {
    if (isRelease(cancelled.reason)) {
      released = true;
      throw cancelled.reason;
    }
    const wasCancelled = cancelled.aborted;
    const wasOver = end !== undefined;
    // A toolpack that failed may have left its program running.
    cancelling.abort(thrown);
    await running?.catch(() => {});
    const told = wasOver || wasCancelled ? (end as AttemptEnd | undefined) : undefined;
    const ended = told && told.status !== 'succeeded' ? endOf(told) : endOfThrown(thrown, wasCancelled);
    throw await finishUnsuccessful(site, attempt, ended);
  } finally {
    stopLooking();
    if (!released) await folders.remove(attempt.id).catch(() => {});
  }
}

/** Writes down how it ended; answers what the caller is told. */
export async function finishUnsuccessful(site: RunSite, attempt: AttemptRecord, ended: UnfinishedEnd) {
  const { failed: _failed, stderr: _stderr, ...finish } = ended;
  const log = await logOf(site, attempt).catch(() => undefined);
  const pause = pauseOf(site);
  for (let tries = 0; ; tries++) {
    try {
      await site.store.finish(attempt.id, { ...finish, outputs: log ? [log] : [] }, site.clock.now());
      return failureOf(attempt, ended, log?.artifact);
    } catch (thrown) {
      // A full disk must not keep a run open for longer than the disk is full; what is still open is recovered later.
      if (tries === FINISH_TRIES || (isFailure(thrown) && thrown.reason === 'run.state')) throw thrown;
      await pause(100 * 2 ** tries);
    }
  }
}

/** Ends it when cancelled; goes away from it when this process lets it go. */
async function follow(
  handle: BackendHandle,
  request: RunRequest,
  cancelled: AbortSignal,
): Promise<AttemptEnd> {
  const leaving = new AbortController();
  const stop = (): void => {
    if (isRelease(cancelled.reason)) leaving.abort(cancelled.reason);
    else handle.cancel().catch(() => {});
  };
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const unfollow = handle.follow((stream, chunk) =>
    request.onOutput?.(stream, decoders[stream].decode(chunk, { stream: true })),
  );
  cancelled.addEventListener('abort', stop);
  try {
    if (cancelled.aborted) stop();
    return await handle.wait(leaving.signal);
  } finally {
    cancelled.removeEventListener('abort', stop);
    unfollow();
  }
}

/** Exactly what was declared: `execute` was asked, and every role is linked. */
function refuseIncomplete(
  { ticket, tool }: RunRequest,
  end: AttemptEnd | undefined,
  linked: ReadonlyMap<string, LinkedOutput>,
): void {
  if (!end)
    throw fail('run.outputs', `Cannot take the answer of "${tool}": its run did not execute the plan`);
  const missing = ticket.plan.outputs.filter(({ role }) => !linked.has(role)).map(({ role }) => `"${role}"`);
  if (missing.length > 0)
    throw fail(
      'run.outputs',
      `Cannot take the answer of "${tool}": it did not link ${missing.join(', ')}, which it declares`,
    );
}

async function logOf(site: RunSite, { id }: AttemptRecord): Promise<LinkedOutput> {
  const { folders } = await site.parts();
  const { id: artifact, size } = await folders.collectLog(id);
  return { role: LOG_ROLE, type: 'text/plain', label: 'Log', artifact, size };
}

/** In the audit, so that a row proves what the run made. */
const digestsOf = (outputs: readonly LinkedOutput[]) =>
  Object.fromEntries(outputs.map(({ role, artifact }) => [role, artifact]));

function factsOf({ id, backend }: AttemptRecord, { observed, exitCode }: UnfinishedEnd) {
  return { attempt: id, backend, exit_code: exitCode, ...(observed ? { observed } : {}) };
}

/** Somebody may ask from another process: then it is in the store. */
function lookForCancel(site: RunSite, attemptId: string, cancelling: AbortController): () => void {
  const look = async (): Promise<void> => {
    const attempt = await site.store.attempt(attemptId).catch(() => undefined);
    if (attempt && attempt.cancelTs !== null)
      cancelling.abort(fail('run.cancelled', ATTEMPT_WORDS.cancelled));
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** `failed` and `stderr` are for the caller; the store has the log. */
type UnfinishedEnd = Omit<AttemptFinish, 'outputs' | 'data'> & {
  readonly failed?: Failure;
  readonly stderr?: string;
};

/** What a backend said. */
export function endOf({
  status,
  failure = 'infrastructure',
  cause,
  exitCode,
  message,
  observed,
  stderr,
}: AttemptEnd): UnfinishedEnd {
  const state: EndState = status === 'lost' ? 'lost' : failure === 'cancelled' ? 'cancelled' : 'failed';
  return {
    state,
    failure,
    cause: cause ?? null,
    exitCode,
    message,
    observed: (observed as JsonObject | undefined) ?? null,
    ...(stderr === undefined ? {} : { stderr }),
  };
}

/** What was thrown on the way. A failure of the table keeps its own words; the rest is a bug, and stays inside. */
function endOfThrown(thrown: unknown, cancelled: boolean): UnfinishedEnd {
  const none = { cause: null, exitCode: null, observed: null };
  if (cancelled) return { ...none, ...CANCELLED };
  if (!isFailure(thrown))
    return {
      ...none,
      state: 'failed',
      failure: 'infrastructure',
      message: 'Cannot finish the attempt: an internal error occurred',
    };
  if (thrown.reason === 'time.deadline')
    return {
      ...none,
      state: 'failed',
      failure: 'limit',
      cause: 'limit.run_time',
      message: thrown.message,
      failed: thrown,
    };
  return {
    ...none,
    state: 'failed',
    failure: CLASS_OF[thrown.reason] ?? 'tool',
    message: thrown.message,
    failed: thrown,
  };
}

export const CANCELLED = {
  state: 'cancelled',
  failure: 'cancelled',
  cause: 'cancelled',
  message: ATTEMPT_WORDS.cancelled,
} as const;

/** What happened on the way and was nobody's program. */
const CLASS_OF: Partial<Record<Reason, FailureClass>> = {
  'run.infrastructure': 'infrastructure',
  'file.no_space': 'infrastructure',
  'file.io': 'infrastructure',
  'artifact.unknown': 'infrastructure',
  'object.missing': 'infrastructure',
  'object.corrupt': 'infrastructure',
  'sandbox.unavailable': 'infrastructure',
  'policy.denied': 'infrastructure',
};

/** For the caller. What has its own row of the table is told as that. */
export function failureOf(
  { runId, id }: Pick<AttemptRecord, 'runId' | 'id'>,
  end: UnfinishedEnd,
  log: string | undefined,
): Failure {
  const { failure, cause, exitCode, message, failed, stderr } = end;
  const details = {
    ...failed?.details,
    run_id: runId,
    attempt_id: id,
    ...(failure === null ? {} : { failure }),
    ...(cause === null ? {} : { cause }),
    ...(exitCode === null ? {} : { exit_code: exitCode }),
    ...(stderr === undefined ? {} : { stderr }),
    ...(log === undefined ? {} : { log }),
  };
  return fail(failed?.reason ?? reasonOfEnd(failure, cause), message, details);
}

/** Only what the machine did is tried again by itself. */
export const isTriedAgain = (thrown: unknown): boolean =>
  isFailure(thrown) && (thrown.reason === 'run.infrastructure' || thrown.reason === 'run.attempt_lost');
