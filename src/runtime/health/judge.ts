// Owns: what a row of looks amounts to: when something counts as unhealthy, and when as ready again.
// Refuses: time and ways; it is told what was seen, and returns the next state.
import type { HealthPlan } from '../../contract/health.ts';
import type { HealthStatus } from '../../contract/manifest.ts';

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
