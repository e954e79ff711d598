// Owns: that equal runs asked for at the same moment are executed once: joined in this process, waited for in another.
// Refuses: to cancel what somebody still waits for.

import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import { orAborted } from '../../base/or-aborted.ts';
import { fail, isFailure, toErrorEntry } from '../../contract/errors.ts';
import { type AttemptRecord, isOpen } from '../../contract/run.ts';
import type { ChosenPlace, RunOutcome, RunRequest, RunTicket } from '../../contract/runs.ts';
import type { NewId } from '../../contract/runtime.ts';
import { conductAttempt, endOf, failureOf, isTriedAgain } from './conduct-attempt.ts';
import { pauseOf, type RunSite, releaseReason } from './run-site.ts';

interface SingleFlight {
  execute(request: RunRequest, signal: AbortSignal): Promise<RunOutcome>;
  /** Goes away from what is under way; waits for what is being ended. */
  close(): Promise<void>;
}

interface Flight {
  readonly outcome: Promise<RunOutcome>;
  readonly control: AbortController;
  readonly listeners: Set<NonNullable<RunRequest['onOutput']>>;
  /** Its newest attempt is with the engine. Never rejects. */
  readonly started: Promise<AttemptRecord>;
  waiting: number;
}

/** How often what the machine did is tried again, and how long is waited before. */
const TRIES = 3;
const BACK_OFF_MS = 500;

export function createSingleFlight(site: RunSite): SingleFlight {
  const flights = new Map<string, Flight>();
  const pause = pauseOf(site);

  const launch = (key: string, request: RunRequest): Flight => {
    const control = new AbortController();
    const listeners: Flight['listeners'] = new Set();
    const started = Promise.withResolvers<AttemptRecord>();
    const shared: RunRequest = {
      ...request,
      onStarted: started.resolve,
      onOutput(...said) {
        for (const hear of listeners) hear(...said);
      },
    };
    const outcome = attemptRun(site, pause, shared, control.signal).finally(() => flights.delete(key));
    outcome.catch(() => {});
    const flight: Flight = { outcome, control, listeners, started: started.promise, waiting: 0 };
    flights.set(key, flight);
    return flight;
  };

  return {
    async execute(request, signal) {
      signal.throwIfAborted();
      const { purpose, runId, resume } = request.ticket;
      // Who only goes on with an attempt would not try another for those who join.
      const key = `${resume ? 'resume' : purpose} ${runId}`;
      const flight = flights.get(key) ?? launch(key, request);
      const { onOutput } = request;
      void flight.started.then((attempt) => request.ticket.onStarted?.(attempt));
      flight.waiting += 1;
      if (onOutput) flight.listeners.add(onOutput);
      try {
        return await orAborted(flight.outcome, signal);
      } finally {
        flight.waiting -= 1;
        if (onOutput) flight.listeners.delete(onOutput);
        if (flight.waiting === 0) flight.control.abort(signal.reason);
      }
    },
    async close() {
      const open = [...flights.values()];
      for (const { control } of open) control.abort(releaseReason());
      await Promise.allSettled(open.map(({ outcome }) => outcome));
    },
  };
}

/** One attempt after the other, until one says something that another would not change. */
async function attemptRun(
  site: RunSite,
  pause: (ms: number) => Promise<void>,
  request: RunRequest,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const { ticket, tool, contract, args, callId } = request;
  const { runId, preimage, purpose } = ticket;
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const seen = await resultOf(site, request);
    if (seen && 'data' in seen) return seen;
    if (ticket.resume) await requireOpen(site, runId);
    const id = newAttemptId(site.newId, runId);
    const { place, passedOver } = await answeringPlace(site, tool, ticket);
    const placed = { ...request, ticket: { ...ticket, ...place } };
    const begun = await site.store.begin(
      { runId, tool, contract, preimage, args, plan: place.plan, seenResult: seen?.callId ?? null },
      { id, purpose, backend: place.backend, callId, session: ticket.session },
      site.clock.now(),
    );
    try {
      if (begun.mine)
        return withPassed(await conductAttempt(site, begun.attempt, placed, signal), passedOver);
      request.onStarted?.(begun.attempt);
      const joined = await awaitOther(site, begun.attempt, signal);
      if ('data' in joined) return joined;
      return await conductAttempt(site, joined, await asBegun(site, request), signal);
    } catch (thrown) {
      const again =
        isTriedAgain(thrown) || (!begun.mine && isFailure(thrown) && thrown.reason === 'run.cancelled');
      if (!again || ticket.resume || tries === TRIES || signal.aborted) throw thrown;
      await pause(BACK_OFF_MS * tries);
    }
  }
}

type PassedOver = NonNullable<RunOutcome['passedOver']>;

/** The first place that answers. Where there is only one it is not asked: the attempt itself will say. */
async function answeringPlace(site: RunSite, tool: string, ticket: RunTicket) {
  const { backends } = await site.parts();
  const { backend = backends[0]?.name, plan, placement, otherwise = [] } = ticket;
  if (backend === undefined)
    throw fail('run.infrastructure', `Cannot run "${tool}": this host has no backend`);
  const passedOver: { readonly backend: string; readonly why: string }[] = [];
  const first: ChosenPlace = { backend, plan, ...(placement ? { placement } : {}) };
  for (const place of [first, ...otherwise]) {
    const known = backends.find(({ name }) => name === place.backend);
    const silent = otherwise.length > 0 && (await known?.probe?.().then(() => undefined, toErrorEntry));
    if (!silent) return { place, passedOver };
    passedOver.push({ backend: place.backend, why: silent.message });
  }
  const facts = passedOver.map((one) => `${one.backend}: ${one.why}`).join('; ');
  throw fail('run.infrastructure', `Cannot run "${tool}": no place that policy grants answers (${facts})`);
}

const withPassed = (outcome: RunOutcome, passedOver: PassedOver): RunOutcome =>
  passedOver.length === 0
    ? outcome
    : { ...outcome, passedOver, facts: { ...outcome.facts, passed_over: [...passedOver] } };

async function requireOpen(site: RunSite, runId: string): Promise<void> {
  const attempts = await site.store.attempts(runId);
  if (!attempts.some(({ state }) => isOpen(state)))
    throw fail('run.state', `Cannot go on with ${runId}: nothing of it is under way`);
}

/** An attempt goes on with the plan that it was begun with, whatever the backend that this call would have had. */
async function asBegun(site: RunSite, request: RunRequest): Promise<RunRequest> {
  const { ticket } = request;
  const begun = ticket.purpose === 'run' ? (await site.store.get(ticket.runId))?.plan : undefined;
  return begun ? { ...request, ticket: { ...ticket, plan: begun } } : request;
}

/** Somebody may have finished the run since it was looked for. A result that does not verify is only named. */
async function resultOf(
  site: RunSite,
  { ticket: { runId, purpose } }: RunRequest,
): Promise<RunOutcome | { readonly callId: string } | undefined> {
  if (purpose === 'verify') return undefined;
  const { result } = (await site.store.get(runId)) ?? {};
  if (!result) return undefined;
  const hit = await site.replay.find(runId);
  if (!hit) return { callId: result.callId };
  const facts = { replayed: hit.callId };
  return { data: hit.data as RunOutcome['data'], attemptId: '', facts };
}

/** How long to wait between looks at an attempt of another process. */
const LOOKS_MS = [10, 20, 50, 100, 250] as const;

/** What became of an attempt of another process; or the attempt itself, once its owner has died and it is ours. */
async function awaitOther(
  site: RunSite,
  { id }: AttemptRecord,
  signal: AbortSignal,
): Promise<RunOutcome | AttemptRecord> {
  const pause = pauseOf(site);
  for (let looks = 0; ; looks++) {
    signal.throwIfAborted();
    const attempt = await site.store.attempt(id);
    if (!attempt) throw fail('run.attempt_lost', `Cannot follow the attempt ${id}: it is not in the store`);
    if (!isOpen(attempt.state)) return outcomeOf(site, attempt);
    // Looking for the dead costs a transaction.
    const adopted = looks % 5 === 0 ? await adoptAbandoned(site, id) : undefined;
    if (adopted) return adopted;
    await pause(LOOKS_MS[Math.min(looks, LOOKS_MS.length - 1)] as number);
  }
}

async function adoptAbandoned(site: RunSite, id: string): Promise<AttemptRecord | undefined> {
  const abandoned = await site.store.abandoned();
  return abandoned.some((one) => one.id === id) ? site.store.adopt(id) : undefined;
}

async function outcomeOf(site: RunSite, attempt: AttemptRecord): Promise<RunOutcome> {
  const { state, failure, cause, exitCode, message, observed, outputs, id, backend } = attempt;
  if (state !== 'succeeded') {
    const status = state === 'lost' ? 'lost' : 'failed';
    const end = endOf({
      status,
      exitCode,
      message,
      ...(failure ? { failure } : {}),
      ...(cause ? { cause } : {}),
    });
    throw failureOf(attempt, { ...end, observed }, outputs.find(({ role }) => role === 'log')?.artifact);
  }
  const data = (await site.store.get(attempt.runId))?.result?.data;
  if (data === undefined)
    throw fail('run.attempt_lost', `Cannot take the result of ${attempt.runId}: it is not in the store`);
  return {
    data: data as unknown as RunOutcome['data'],
    attemptId: id,
    facts: { attempt: id, backend, joined: true },
  };
}

const newAttemptId = (newId: NewId, runId: string): string =>
  `att_${digest('attempt/v1', canonicalJson({ nonce: newId('attempt'), run: runId }))}`;
