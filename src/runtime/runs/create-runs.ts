// Owns: what hosts can ask of runs: execute, look up, explain (why two are not the same, field by field), retry, cancel, watch, verify, recover.
// Refuses: a second way to call a tool: whatever executes again goes through the pipeline.
import { isRecord } from '../../base/is-record.ts';
import { jsonPointer } from '../../base/rejection.ts';
import type { CallResponse } from '../../contract/envelope.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { type AttemptRecord, isOpen, type RunRecord } from '../../contract/run.ts';
import type {
  FieldDifference,
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

type Way = readonly (string | number)[];

export function explainRuns(a: JsonObject, b: JsonObject): readonly FieldDifference[] {
  const found: FieldDifference[] = [];
  const [one, other] = isSamePolicyShape(a.policy, b.policy)
    ? [a, b].map(withoutHash)
    : [a, b].map(withoutPolicy);
  compare(withoutDerived(one!), withoutDerived(other!), [], found);
  return found;
}

const withoutDerived = ({ paramsHash: _derived, ...rest }: JsonObject): JsonObject => rest;
const withoutPolicy = ({ policy: _kept, ...rest }: JsonObject): JsonObject => rest;

/** A policy is told as its sections; what a session adds lies beside the host's. */
function withoutHash({ policyHash: _derived, policy, ...rest }: JsonObject): JsonObject {
  if (!Array.isArray(policy)) return { ...rest, policy: policy as Json };
  const [host, ...narrowing] = policy as Json[];
  return { ...rest, policy: host as Json, ...(narrowing.length > 0 ? { session: narrowing } : {}) };
}

/** Only what both have, and have in one shape, can be told field by field. */
const isSamePolicyShape = (a: Json | undefined, b: Json | undefined): boolean =>
  a !== undefined && b !== undefined && Array.isArray(a) === Array.isArray(b);

function compare(a: Json | undefined, b: Json | undefined, way: Way, found: FieldDifference[]): void {
  if (a === b) return;
  if (isRecord(a) && isRecord(b)) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort())
      compare(a[key], b[key], [...way, key], found);
    return;
  }
  if (Array.isArray(a) && Array.isArray(b))
    return isPolicy(way) ? compareSets(a, b, way, found) : compareLists(a, b, way, found);
  const sides = { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
  found.push({ field: nameOf(way), path: jsonPointer(way), ...sides });
}

const isPolicy = ([first]: Way): boolean => first === 'policy' || first === 'session';

/** Rules are sorted, so that their places say nothing: what one of the two has not is told. */
function compareSets(a: readonly Json[], b: readonly Json[], way: Way, found: FieldDifference[]): void {
  const [one, other] = [a, b].map((list) => new Map(list.map((entry) => [JSON.stringify(entry), entry])));
  const tell = (sides: { a: Json } | { b: Json }) =>
    found.push({ field: nameOf(way), path: jsonPointer(way), ...sides });
  for (const [text, entry] of one!) if (!other!.has(text)) tell({ a: entry });
  for (const [text, entry] of other!) if (!one!.has(text)) tell({ b: entry });
}

/** Links are known by their role; everything else by its place. */
function compareLists(a: readonly Json[], b: readonly Json[], way: Way, found: FieldDifference[]): void {
  const [one, other] = [byRole(a), byRole(b)];
  if (one && other) {
    for (const role of [...new Set([...one.keys(), ...other.keys()])].sort())
      compare(one.get(role), other.get(role), [...way, role], found);
    return;
  }
  for (let n = 0; n < Math.max(a.length, b.length); n++) compare(a[n], b[n], [...way, n], found);
}

function byRole(list: readonly Json[]): ReadonlyMap<string, Json> | undefined {
  const roles = list.map((one) => (isRecord(one) && typeof one.role === 'string' ? one.role : undefined));
  if (roles.includes(undefined) || new Set(roles).size < roles.length) return undefined;
  return new Map(list.map((one, n) => [roles[n] as string, one]));
}

/** The longest way that begins like this one gives the name; what follows is said as it is. */
const NAMES: readonly { readonly way: readonly string[]; readonly name: string }[] = [
  { way: ['tool'], name: 'tool' },
  { way: ['contractVersion'], name: 'contract version' },
  { way: ['platform'], name: 'platform' },
  { way: ['policyHash'], name: 'policy for this tool' },
  { way: ['policy'], name: 'policy' },
  { way: ['session'], name: 'policy of the session' },
  { way: ['params', 'toolpack'], name: "toolpack's code" },
  { way: ['params', 'params'], name: 'parameter' },
  { way: ['params', 'image'], name: 'image' },
  { way: ['params', 'argv'], name: 'argument' },
  { way: ['params', 'env'], name: 'variable' },
  { way: ['params', 'inputs'], name: 'input' },
  { way: ['params', 'outputs'], name: 'output' },
  { way: ['params'], name: 'argument of the call' },
];

function nameOf(way: Way): string {
  const row = NAMES.find((one) => one.way.every((step, n) => way[n] === step));
  const rest = way.slice(row?.way.length ?? 0);
  return [row?.name, rest.join('.')].filter((part) => part).join(' ');
}
