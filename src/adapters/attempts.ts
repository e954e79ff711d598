// Owns: whether a call is sent again, how often and after how long; and the circuit breaker, which leaves alone what keeps failing.
// Refuses: to send twice what is not idempotent and may have left.
import { type Failure, fail, isFailure, type Reason } from '../contract/errors.ts';
import type { Scheduler } from './scheduler.ts';

/** Delays grow by `factor` up to `maxDelayMs`; each is somewhere in its upper half, so that many do not come back at once. */
export interface RetryPlan {
  /** Counts the first one. */
  readonly attempts: number;
  readonly delayMs: number;
  readonly maxDelayMs: number;
  readonly factor: number;
}

export const SEND_ONCE: RetryPlan = { attempts: 1, delayMs: 0, maxDelayMs: 0, factor: 1 };

/** About two seconds in all: time enough for a program or a service to start again. */
export const RECONNECT: RetryPlan = { attempts: 4, delayMs: 200, maxDelayMs: 3_000, factor: 3 };

export interface AttemptOptions<T = unknown> {
  readonly plan: RetryPlan;
  readonly idempotent: boolean;
  readonly signal: AbortSignal;
  readonly scheduler: Scheduler;
  /** An answer that says that it failed, and may be otherwise the next time. Asked only where it is idempotent. */
  readonly again?: (answer: T) => boolean;
}

/** Answers the first attempt that succeeds; else what the last one answered, or throws what it threw. */
export async function attempt<T>(
  send: (attempt: number) => Promise<T>,
  options: AttemptOptions<T>,
): Promise<T> {
  const { plan, idempotent, signal, scheduler, again = () => false } = options;
  for (let n = 1; ; n++) {
    signal.throwIfAborted();
    try {
      const answer = await send(n);
      if (n >= plan.attempts || !idempotent || !again(answer)) return answer;
    } catch (thrown) {
      signal.throwIfAborted();
      if (n >= plan.attempts || !mayRepeat(thrown, idempotent)) throw thrown;
    }
    await scheduler.sleep(delayAfter(plan, n, scheduler), signal);
  }
}

/** A failure that provably happened before anything left, so that the call may be sent again, whatever it does. */
export function unsent(reason: Reason, message: string, details?: Failure['details']): Failure {
  return markUnsent(fail(reason, message, details));
}

export const markUnsent = (failure: Failure): Failure => Object.assign(failure, { unsent: true });

export const isUnsent = (thrown: unknown): boolean => isFailure(thrown) && 'unsent' in thrown;

function mayRepeat(thrown: unknown, idempotent: boolean): boolean {
  // What did not answer in its time had it; another wait would be as long.
  if (!isFailure(thrown) || thrown.details?.timed_out === true) return false;
  return isUnsent(thrown) || (idempotent && PASSING.has(thrown.reason));
}

/** What may be otherwise the next time. A tool's own failure is an answer and never comes here. */
const PASSING: ReadonlySet<Reason> = new Set<Reason>([
  'call.outcome_unknown',
  'http.failed',
  'http.rate',
  'tool.unhealthy',
]);

function delayAfter(
  { delayMs, maxDelayMs, factor }: RetryPlan,
  attempts: number,
  scheduler: Scheduler,
): number {
  const step = Math.min(maxDelayMs, delayMs * factor ** (attempts - 1));
  return step / 2 + (step / 2) * scheduler.random();
}

export interface BreakerOptions {
  /** So many failures in a row open it. */
  readonly failures: number;
  /** How long nothing is tried then. */
  readonly restMs: number;
}

type BreakerState = 'closed' | 'open' | 'half_open';

export interface CircuitBreaker {
  /**
   * Runs it, or throws `tool.unhealthy` at once where nothing is to be tried. `counts` says which throws are failures.
   * `anyway`: for looks, which are made to find out whether it is back.
   */
  guard<T>(run: () => Promise<T>, counts?: (thrown: unknown) => boolean, anyway?: boolean): Promise<T>;
  readonly state: BreakerState;
  /** What opened it. */
  readonly cause: Failure | undefined;
}

export const USUAL_BREAKER: BreakerOptions = { failures: 5, restMs: 10_000 };

export function createCircuitBreaker(
  name: string,
  options: BreakerOptions,
  scheduler: Scheduler,
): CircuitBreaker {
  let failures = 0;
  let openedAt = 0;
  let trying = false;
  let cause: Failure | undefined;
  const state = (): BreakerState => {
    if (failures < options.failures) return 'closed';
    return scheduler.now() - openedAt >= options.restMs ? 'half_open' : 'open';
  };
  return {
    async guard(run, counts = () => true, anyway = false) {
      const now = state();
      if (!anyway && (now === 'open' || (now === 'half_open' && trying))) throw resting(name, cause);
      if (now === 'half_open') trying = true;
      try {
        const result = await run();
        failures = 0;
        cause = undefined;
        return result;
      } catch (thrown) {
        if (counts(thrown)) {
          failures++;
          openedAt = scheduler.now();
          cause = isFailure(thrown) ? thrown : undefined;
        }
        throw thrown;
      } finally {
        if (now === 'half_open') trying = false;
      }
    },
    get state() {
      return state();
    },
    get cause() {
      return cause;
    },
  };
}

const resting = (name: string, cause: Failure | undefined) =>
  unsent(
    'tool.unhealthy',
    `Cannot reach "${name}": it failed several times and is left alone for a while${cause ? ` (${cause.message})` : ''}`,
  );
