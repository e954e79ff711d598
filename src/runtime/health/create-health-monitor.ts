// Owns: what is watched, the one way to look at it that each strategy has, what a row of looks amounts to, and when it is looked at again.
// Refuses: to look twice at once, to wait for a look beyond its time, to leave a timer behind, and to take a word that it does not know for good news.
import { orAborted } from '../../base/or-aborted.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type {
  HealthMonitor,
  HealthPlan,
  HealthStrategy,
  HealthSubject,
  HealthWays,
} from '../../contract/health.ts';
import type { HealthReport, HealthStatus } from '../../contract/manifest.ts';
import type { Clock, EventBus } from '../../contract/runtime.ts';

interface HealthParts {
  readonly timing: HealthTiming;
  readonly events: EventBus;
  /** What other hosts saw, and are told. */
  readonly memory?: HealthMemory;
}

interface Watched {
  readonly subject: HealthSubject;
  readonly ending: AbortController;
  state: HealthState;
  checkedTs: number | null;
  /** While it is unhealthy: until when it is left alone, in monotonic time. */
  restUntil: number;
  /** When a call last told that it was lost, in monotonic time. */
  crashedAt?: number;
  looking?: Promise<HealthReport> | undefined;
  /** Somebody asked for the look that is under way, and takes its word. */
  decides?: boolean;
  cancelTimer?: (() => void) | undefined;
}

export function createHealthMonitor({ timing, events, memory }: HealthParts): HealthMonitor {
  const watching = new Map<string, Watched>();
  let started = false;

  const note = (watched: Watched, look: Look | undefined, decides = false): HealthReport => {
    const { subject, state: before } = watched;
    if (!look) return reportOf(watched);
    watched.state = judge(decides ? DECIDING : subject.plan, before, look);
    watched.checkedTs = timing.now();
    watched.restUntil = timing.monotonic() + spread(subject.plan.intervalMs);
    if (isWorthKeeping(before, watched.state))
      memory?.keep(subject, { state: watched.state, checkedTs: watched.checkedTs });
    const report = reportOf(watched);
    if (before.status !== report.status) {
      const { status, message, checkedTs } = report;
      const said = { status, ...(message === undefined ? {} : { message }), checked_ts: checkedTs };
      const data = { installation: subject.name, before: before.status, ...said };
      events.emit({ type: 'EventMessage', event: 'HealthChanged', data });
    }
    return report;
  };

  /** What crashes takes all calls with it that are under way: that is one failure, however many tell of it. */
  const isSameCrash = (watched: Watched, reason: string): boolean => {
    if (reason !== 'call.outcome_unknown') return false;
    const before = watched.crashedAt;
    watched.crashedAt = timing.monotonic();
    return before !== undefined && watched.crashedAt - before < ONE_CRASH_MS;
  };

  /** Spread, so that what was installed at one time is not always looked at in one moment. */
  const spread = (ms: number) => ms * (0.9 + 0.2 * timing.random());

  const look = (watched: Watched): Promise<HealthReport> => {
    // Later, so that whatever the probe does finds that a look is under way.
    watched.looking ??= Promise.resolve()
      .then(() => probe(watched, timing))
      .then((seen) =>
        watched.ending.signal.aborted ? reportOf(watched) : note(watched, seen, watched.decides),
      )
      .finally(() => {
        watched.looking = undefined;
        watched.decides = false;
        plan(watched);
      });
    return watched.looking;
  };

  /** For a call that cannot be made unless the look is a good one. */
  const lookFor = async (watched: Watched, signal: AbortSignal): Promise<void> => {
    const { status } = await orAborted(look(watched), signal).catch((thrown) => {
      const { name } = watched.subject;
      throw signal.aborted ? fail('time.cancelled', `Cannot use "${name}": the call was cancelled`) : thrown;
    });
    if (status === 'unhealthy') throw refusal(watched, watched.restUntil - timing.monotonic());
  };

  const plan = (watched: Watched, ms = watched.subject.plan.intervalMs): void => {
    watched.cancelTimer?.();
    watched.cancelTimer = undefined;
    if (!started || watched.ending.signal.aborted || !watched.subject.enabled) return;
    watched.cancelTimer = timing.after(spread(ms), () => {
      // What nobody uses is not started to be looked at; what is unhealthy is looked at, so that it comes back.
      if (watched.state.status !== 'unhealthy' && watched.subject.ways.asleep?.()) plan(watched);
      else void look(watched);
    });
  };

  const end = (watched: Watched): void => {
    watched.cancelTimer?.();
    watched.ending.abort(
      fail('time.cancelled', `Cannot look at "${watched.subject.name}": it is not watched`),
    );
    if (watching.get(watched.subject.name) === watched) watching.delete(watched.subject.name);
  };

  return {
    watch(subject) {
      const before = watching.get(subject.name);
      if (before) end(before);
      const ending = new AbortController();
      const known = memory?.recall(subject);
      const fresh = known && timing.now() - known.checkedTs < REMEMBERED_MS ? known : undefined;
      // It was another host that looked: before this one refuses a call, it looks itself.
      const seen = fresh ?? { state: UNVERIFIED, checkedTs: null };
      const watched: Watched = { subject, ending, ...seen, restUntil: 0 };
      watching.set(subject.name, watched);
      plan(watched, FIRST_LOOK_MS);
      return () => end(watched);
    },
    report(name) {
      const watched = watching.get(name);
      return watched && reportOf(watched);
    },
    reports: () =>
      [...watching].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, watched]) => [name, reportOf(watched)]),
    async look(name, signal, decides = false) {
      const watched = watching.get(name);
      if (!watched) throw fail('pack.unknown', `Cannot look at "${name.slice(0, 80)}": it is not installed`);
      if (decides) watched.decides = true;
      return watched.subject.enabled ? orAborted(look(watched), signal) : reportOf(watched);
    },
    admit(name, signal) {
      const watched = watching.get(name);
      if (!watched || (watched.subject.enabled && watched.state.status !== 'unhealthy')) return;
      if (!watched.subject.enabled) throw fail('tool.disabled', `Cannot use "${name}": it is disabled`);
      const rest = watched.restUntil - timing.monotonic();
      if (rest > 0 && !watched.looking) throw refusal(watched, rest);
      return lookFor(watched, signal());
    },
    observe(name, error) {
      const watched = watching.get(name);
      // Of a look by a call, the look says what it saw.
      if (!watched?.subject.enabled || (watched.looking && watched.subject.plan.strategy === 'ping')) return;
      if (!error) note(watched, { status: 'ready' });
      else if (TELLING.includes(error.reason) && !isSameCrash(watched, error.reason))
        note(watched, { status: 'unhealthy', message: error.message });
    },
    start() {
      if (started) return;
      started = true;
      for (const watched of watching.values()) plan(watched, FIRST_LOOK_MS);
    },
    async close() {
      started = false;
      const underWay = [...watching.values()].map(({ looking }) => looking);
      for (const watched of [...watching.values()]) end(watched);
      await Promise.allSettled(underWay);
    },
  };
}

/** Soon, but after whatever a start is about. */
const FIRST_LOOK_MS = 1_000;

const DECIDING = { failureThreshold: 1, successThreshold: 1 };

const ONE_CRASH_MS = 100;

/** Failures of a call that tell something about what it was to reach; all others are about the call. */
const TELLING = ['tool.unhealthy', 'call.outcome_unknown', 'http.failed', 'shell.failed'];

function reportOf({ subject, state, checkedTs }: Watched): HealthReport {
  if (!subject.enabled) return { status: 'disabled', checkedTs };
  const { status, message } = state;
  return { status, checkedTs, ...(message === undefined ? {} : { message }) };
}

/** Ends with its time, also where the probe does not mind its signal. Never rejects. */
async function probe({ subject, ending }: Watched, timing: HealthTiming): Promise<Look | undefined> {
  const { plan, ways } = subject;
  const deadline = new AbortController();
  const signal = AbortSignal.any([ending.signal, deadline.signal]);
  const late = () =>
    deadline.abort(
      fail('time.deadline', `Cannot look at "${subject.name}": no answer within ${plan.timeoutMs} ms`),
    );
  const cancel = timing.after(plan.timeoutMs, late, true);
  try {
    return await orAborted(PROBES[plan.strategy](plan, ways, signal), signal);
  } catch (thrown) {
    return {
      status: 'unhealthy',
      message: isFailure(thrown) ? thrown.message : 'its health check broke off',
    };
  } finally {
    cancel();
  }
}

function refusal({ subject, state }: Watched, restMs: number) {
  const because = state.message === undefined ? '' : ` (${state.message})`;
  const rest = Math.max(0, Math.ceil(restMs));
  const hint = `it is tried again in ${Math.ceil(rest / 1000)} s, and "haft tools health ${subject.name}" says more`;
  const message = `Cannot use "${subject.name}": its health check fails${because}; ${hint}`;
  return fail('tool.unhealthy', message, { retry_after_ms: rest });
}

export interface HealthMemory {
  recall(subject: HealthSubject): Remembered | undefined;
  keep(subject: HealthSubject, seen: Remembered): void;
}

export interface Remembered {
  readonly state: HealthState;
  readonly checkedTs: number;
}

/** What is older says nothing any more. */
export const REMEMBERED_MS = 10 * 60_000;

/** That all is well need not be told to anybody. */
const isWorthKeeping = (before: HealthState, now: HealthState): boolean =>
  isTrouble(before) || isTrouble(now);

const isTrouble = ({ failures, recovering, status }: HealthState): boolean =>
  failures > 0 || recovering || status === 'degraded';

export interface HealthTiming extends Clock {
  /** From 0 up to and without 1. */
  random(): number;
  /**
   * Runs it after so many milliseconds, unless the function that is answered was called before. `awaited`: somebody
   * waits for it, so that the process must not end before.
   */
  after(ms: number, run: () => void, awaited?: boolean): () => void;
}

export function systemTiming(clock: Clock): HealthTiming {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    random: () => Math.random(),
    after(ms, run, awaited = false) {
      const timer = setTimeout(run, ms);
      if (!awaited) timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

/** Undefined where there is nothing to be seen. */
type Probe = (plan: HealthPlan, ways: HealthWays, signal: AbortSignal) => Promise<Look | undefined>;

/** Only the adapter can tell whether its program starts, its host takes a connection, its server answers. */
const askAdapter: Probe = async (_plan, ways, signal) => {
  const { status, message } = await (await ways.connection()).health(signal);
  if (status === 'unverified') return undefined;
  return { status: normaliseStatus(status), ...(message === undefined ? {} : { message }) };
};

const askEndpoint: Probe = async ({ url, timeoutMs }, { http }, signal) => {
  if (url === undefined || !http) throw impossible('endpoint', 'there is no url to ask');
  const { status } = await http.request({ url, signal, timeoutMs, retries: 0, maxBytes: 0 });
  return status < 400
    ? { status: 'ready' }
    : { status: 'unhealthy', message: `its endpoint answers with status ${status}` };
};

const callTool: Probe = async ({ tool, input = {} }, { call }, signal) => {
  if (tool === undefined || !call) throw impossible('ping', 'there is no tool to call');
  const { ok, errors } = await call({ tool, args: input }, { signal });
  return ok ? { status: 'ready' } : { status: 'unhealthy', message: errors[0]?.message ?? 'its call failed' };
};

/** A new strategy is a line here and one in the contract. */
const PROBES: { readonly [S in HealthStrategy]: Probe } = {
  process: askAdapter,
  connection: askAdapter,
  mcp: askAdapter,
  endpoint: askEndpoint,
  ping: callTool,
};

const impossible = (strategy: HealthStrategy, fact: string) =>
  fail('pack.invalid', `Cannot look by ${strategy}: ${fact}`);

/** Case and surrounding spaces do not matter; what is unknown is `unhealthy`. */
export function normaliseStatus(word: unknown): Look['status'] {
  const known = typeof word === 'string' ? word.trim().toLowerCase() : '';
  return Object.hasOwn(MEANINGS, known) ? MEANINGS[known]! : 'unhealthy';
}

const MEANINGS: Readonly<Record<string, Look['status']>> = {
  ready: 'ready',
  ok: 'ready',
  up: 'ready',
  pass: 'ready',
  passing: 'ready',
  healthy: 'ready',
  serving: 'ready',
  degraded: 'degraded',
  warn: 'degraded',
  warning: 'degraded',
  partial: 'degraded',
};

export interface HealthState {
  readonly status: HealthStatus;
  /** Bad looks in a row. */
  readonly failures: number;
  /** Good looks in a row, since it was unhealthy. */
  readonly successes: number;
  /** Half open: it was unhealthy, and has not yet been good often enough. One bad look, and it is again. */
  readonly recovering: boolean;
  readonly message?: string;
}

export const UNVERIFIED: HealthState = {
  status: 'unverified',
  failures: 0,
  successes: 0,
  recovering: false,
};

export function judge(
  plan: Pick<HealthPlan, 'failureThreshold' | 'successThreshold'>,
  before: HealthState,
  { status, message }: Look,
): HealthState {
  const said = message === undefined ? {} : { message };
  if (status === 'unhealthy') {
    const failures = before.failures + 1;
    const down = before.status === 'unhealthy' || before.recovering || failures >= plan.failureThreshold;
    return {
      status: down ? 'unhealthy' : 'degraded',
      failures,
      successes: 0,
      recovering: false,
      ...said,
    };
  }
  const successes = before.status === 'unhealthy' ? 1 : before.successes + 1;
  const recovering =
    (before.status === 'unhealthy' || before.recovering) && successes < plan.successThreshold;
  return { status: recovering ? 'degraded' : status, failures: 0, successes, recovering, ...said };
}

export interface Look {
  readonly status: 'ready' | 'degraded' | 'unhealthy';
  readonly message?: string;
}
