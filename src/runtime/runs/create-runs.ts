// Owns: what hosts can ask of runs: execute, look up, explain, retry, cancel, watch, verify, recover.
// Refuses: a second way to call a tool: whatever executes again goes through the pipeline.

import type { CallResponse } from '../../contract/envelope.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { type AttemptRecord, isOpen, type RunRecord } from '../../contract/run.ts';
import type {
  RunCallOptions,
  RunData,
  RunLook,
  RunSubmission,
  RuntimeRuns,
  RunVerification,
  SubmitOptions,
  SubmittedRun,
} from '../../contract/runs.ts';
import type { CallOptions, NamedRun, Runtime } from '../../contract/runtime.ts';
import { LOG_ROLE } from '../../contract/toolpack.ts';
import { resultDigest } from '../identity.ts';
import { explainRuns } from './explain-runs.ts';
import { cancelRun, recoverAttempts } from './recover-attempts.ts';
import { backendOf, pauseOf, type RunSite, releaseReason } from './run-site.ts';
import { createSingleFlight } from './single-flight.ts';

export interface Runs extends RuntimeRuns {
  /** Goes away from what is only followed; calls under way go on. */
  release(): void;
  close(): Promise<void>;
}

export function createRuns(site: RunSite, call: Runtime['call']): Runs {
  const flights = createSingleFlight(site);
  const following = new Set<Promise<unknown>>();
  const leaving = new AbortController();

  const get = async (runId: string): Promise<RunRecord> => {
    const found = await site.store.get(runId);
    if (found) return found;
    throw fail('run.unknown', `Cannot find the run "${runId.slice(0, 80)}": no run has this id`);
  };
  const callAgain = async (
    { runId, tool, args }: RunRecord,
    options: RunCallOptions,
    how: Pick<CallOptions, 'verify' | 'resume' | 'onNamed'> = {},
  ) => {
    if (!args) throw fail('run.unknown', `Cannot make the call of ${runId} again: only its result was kept`);
    const { signal, sessionId, backend } = options;
    const response = await call(
      { tool, args, ...(sessionId ? { sessionId } : {}) },
      { ...(signal ? { signal } : {}), ...(backend === undefined ? {} : { backend }), ...how },
    );
    const [error] = response.errors;
    if (error) throw fail(error.reason, error.message, error.details);
    return response;
  };
  const recover: RuntimeRuns['recover'] = ({ follow = false, runId } = {}) =>
    recoverAttempts({
      site,
      follow,
      runId,
      leaving: leaving.signal,
      resume: (run) => callAgain(run, { signal: leaving.signal }, { resume: true }),
      track(work) {
        const tracked = work.finally(() => following.delete(tracked));
        following.add(tracked);
      },
    });

  return {
    execute: flights.execute,
    get,
    attempts: async (runId) => site.store.attempts((await get(runId)).runId),
    list: (query = {}) => site.store.list(query),
    async explain(runId, otherId) {
      const a = await get(runId);
      const other =
        otherId ??
        (await site.store.list({ tool: a.tool, limit: 2 })).find((row) => row.runId !== runId)?.runId;
      if (other === undefined) return { a: runId, b: null, differences: [] };
      const b = await get(other);
      const [one, two] = await Promise.all([a, b].map(({ preimage }) => withPolicy(site, preimage)));
      return { a: runId, b: other, differences: explainRuns(one!, two!) };
    },
    async retry(runId, options = {}) {
      const { runId: done = runId } = await callAgain(await get(runId), options);
      return get(done);
    },
    cancel: async (runId) => cancelRun(site, (await get(runId)).runId),
    watch: async (runId, onLog, signal) => watchRun(site, await get(runId), onLog, signal),
    verify: async (runId, options = {}) =>
      verifyRun(site, await get(runId), (run, onNamed) => callAgain(run, options, { verify: true, onNamed })),
    recover,
    look: (runId) => lookAtRun(site, runId, { get, recover }),
    submit: (request, options) => submitRun(request, { ...options, call, leaving: leaving.signal }),
    release: () => leaving.abort(releaseReason()),
    async close() {
      await flights.close();
      await Promise.allSettled([...following]);
      await Promise.all((site.loaded()?.backends ?? []).map((backend) => backend.close()));
    },
  };
}

async function lookAtRun(
  site: RunSite,
  runId: string,
  { get, recover }: Pick<RuntimeRuns, 'get' | 'recover'>,
): Promise<RunLook> {
  await get(runId);
  await recover({ runId });
  const attempts = await site.store.attempts(runId);
  const open = attempts.find(({ state }) => isOpen(state));
  // An engine that does not answer has nothing to say.
  const engine = open && (await backendOf(site, open.backend).catch(() => undefined));
  const job = open && (await engine?.look?.({ id: open.id }).catch(() => undefined));
  return { run: await get(runId), attempts, job: job ?? null };
}

interface SubmitSite extends SubmitOptions {
  readonly call: Runtime['call'];
  /** Aborts when this process goes away; a run on an engine goes on then. */
  readonly leaving: AbortSignal;
}

async function submitRun(
  { tool, args, backend, placement }: RunSubmission,
  { call, leaving, signal, sessionId, requestId }: SubmitSite,
): Promise<SubmittedRun> {
  signal.throwIfAborted();
  const giveUp = new AbortController();
  const abort = (): void => giveUp.abort(signal.reason);
  signal.addEventListener('abort', abort);
  const started = Promise.withResolvers<SubmittedRun>();
  const answered = call(
    { tool, args, sessionId, requestId },
    {
      backend,
      ...(placement ? { placement } : {}),
      signal: AbortSignal.any([leaving, giveUp.signal]),
      onStarted: ({ runId }) => started.resolve({ runId, replayed: false }),
    },
  ).then(({ errors: [error], runId, replayed = false }): SubmittedRun => {
    if (error) throw fail(error.reason, error.message, error.details);
    if (runId === undefined)
      throw fail('tool.unknown', `Cannot submit "${tool}": it is no tool of a toolpack, and makes no run`);
    return { runId, replayed };
  });
  try {
    return await Promise.race([started.promise, answered]);
  } finally {
    // From here on it is nobody's to cancel but by its run.
    signal.removeEventListener('abort', abort);
    answered.catch(() => {});
  }
}

const LOOK_MS = 100;

async function watchRun(
  site: RunSite,
  { runId, plan }: RunRecord,
  onLog: (chunk: Uint8Array) => void,
  signal: AbortSignal,
): Promise<AttemptRecord> {
  const newest = (await site.store.attempts(runId)).at(-1);
  if (!newest || !plan) throw fail('run.state', `Cannot watch the run ${runId}: it was never attempted`);
  const { folders, artifacts } = await site.parts();
  const pause = pauseOf(site);
  const target = { id: newest.id, runId, plan, folder: folders.at(newest.id) };
  let unfollow: (() => void) | undefined;
  try {
    for (;;) {
      signal.throwIfAborted();
      const attempt = (await site.store.attempt(newest.id)) as AttemptRecord;
      if (!isOpen(attempt.state)) {
        const log = attempt.outputs.find(({ role }) => role === LOG_ROLE);
        if (!unfollow && log) for await (const chunk of artifacts.stream(log.artifact)) onLog(chunk);
        return attempt;
      }
      if (!unfollow && attempt.state === 'running') {
        const handle = await (await backendOf(site, attempt.backend)).find(target);
        unfollow = handle?.follow((_stream, chunk) => onLog(chunk));
      }
      await pause(LOOK_MS);
    }
  } finally {
    unfollow?.();
  }
}

async function verifyRun(
  site: RunSite,
  run: RunRecord,
  callAgain: (run: RunRecord, onNamed: NonNullable<CallOptions['onNamed']>) => Promise<CallResponse>,
): Promise<RunVerification> {
  const { runId } = run;
  const before = (await site.store.attempts(runId)).findLast(
    ({ purpose, state }) => purpose === 'run' && state === 'succeeded',
  );
  if (!before) throw fail('run.state', `Cannot verify the run ${runId}: it has not succeeded`);
  const response = await callAgain(run, async (now) => {
    if (now?.runId !== runId) throw await changed(site, run, now);
  });
  const again = (await site.store.attempts(runId)).findLast(
    ({ purpose, state }) => purpose === 'verify' && state === 'succeeded',
  );
  if (!again)
    throw fail(
      'run.attempt_lost',
      `Cannot verify the run ${runId}: what was executed again is not in the store`,
    );
  const [recorded, seen] = [outputsOf(before), outputsOf(again)];
  const outputs = [...new Set([...recorded.keys(), ...seen.keys()])].sort().map((role) => {
    const [one, other] = [recorded.get(role) ?? null, seen.get(role) ?? null];
    return { role, recorded: one, seen: other, same: one === other };
  });
  const result = compareResults(run.result?.data, response.data);
  const identical = result.same && outputs.every(({ same }) => same);
  return { runId, attemptId: again.id, identical, outputs, result };
}

const MOST_PATHS = 10;

/** Before anything is executed: what a run's id stands for is no longer what the call would be made of. */
async function changed(site: RunSite, run: RunRecord, now: NamedRun | undefined): Promise<Failure> {
  const { runId, tool } = run;
  const told = `Cannot verify the run ${runId}`;
  if (!now)
    return fail('run.changed', `${told}: "${tool}" makes no runs any more. Its result is kept as it is`);
  const policy: Json = JSON.parse(Buffer.from(now.policy()).toString('utf8'));
  const differences = explainRuns(await withPolicy(site, run.preimage), { ...now.preimage, policy });
  const fields = [...new Set(differences.map(({ field }) => field))];
  const more = fields.length > MOST_PATHS ? `, and ${fields.length - MOST_PATHS} more` : '';
  return fail(
    'run.changed',
    `${told}: the same call is another run now; since then this changed: ${fields.slice(0, MOST_PATHS).join(', ')}${more}. ` +
      `Nothing was executed, and its result is kept. To verify it, put that back as it was; to run what there is now, "haft runs retry ${runId}"`,
    { differences: differences.slice(0, MOST_PATHS).map((one) => ({ ...one })) },
  );
}

/** What a run answers is `result` and its outputs; the log among those is another one each time. */
function compareResults(kept: unknown, seen: unknown): RunVerification['result'] {
  const [a, b] = [kept, seen].map((data) => (data as Partial<RunData> | null | undefined)?.result ?? null);
  const [recorded, now] = [a, b].map((result) => resultDigest(result) ?? null);
  const same = recorded !== null && recorded === now;
  const paths = same ? [] : explainRuns({ result: a as Json }, { result: b as Json }).map(({ path }) => path);
  const below = paths.map((path) => path.replace(/^\/result/, ''));
  return { recorded: recorded!, seen: now!, same, paths: below.slice(0, MOST_PATHS) };
}

const outputsOf = ({ outputs }: AttemptRecord) =>
  new Map(outputs.filter(({ role }) => role !== LOG_ROLE).map(({ role, artifact }) => [role, artifact]));

/** What the policy's hash stands for is what people know; the hash alone where that is not kept. */
async function withPolicy(site: RunSite, preimage: JsonObject): Promise<JsonObject> {
  const policy = await site.policyOf?.(String(preimage.policyHash));
  return policy === undefined ? preimage : { ...preimage, policy };
}
