// Owns: what is told of the health of a pack or a tool.
// Refuses: how it is found out; see `health.ts`.

export type HealthStatus = 'ready' | 'degraded' | 'unhealthy' | 'disabled' | 'unverified';

export interface HealthReport {
  readonly status: HealthStatus;
  /** When it was last looked at. */
  readonly checkedTs: number | null;
  /** What was wrong. */
  readonly message?: string;
}
