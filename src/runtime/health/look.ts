// Owns: what one look at a subject saw.
// Refuses: what to make of it; judge.ts says.

export interface Look {
  readonly status: 'ready' | 'degraded' | 'unhealthy';
  readonly message?: string;
}
