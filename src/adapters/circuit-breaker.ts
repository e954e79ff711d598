// Owns: leaving something alone that failed several times in a row, and trying it again with one call after a while.
// Refuses: to judge; whoever calls says what succeeded and what failed.
import { type Failure, isFailure } from '../contract/errors.ts';
import { unsent } from './attempts.ts';
import type { Scheduler } from './scheduler.ts';

export interface BreakerOptions {
  /** So many failures in a row open it. */
  readonly failures: number;
  /** How long nothing is tried then. */
  readonly restMs: number;
}

export type BreakerState = 'closed' | 'open' | 'half_open';

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
