// Owns: where a plan runs, and how an attempt is followed and adopted after a crash.
// Refuses: run identity and replay; a backend executes one attempt and says how it ended.
import type { ExecutionPlan } from './plan.ts';

export interface Backend {
  readonly name: string;
  /** Starts the attempt unless it is already there: the same attempt id never executes twice. */
  start(attempt: Attempt): Promise<BackendHandle>;
  /** What became of an attempt that an earlier process started. */
  find(attemptId: string): Promise<BackendHandle | undefined>;
}

export interface Attempt {
  readonly id: string;
  readonly runId: string;
  readonly plan: ExecutionPlan;
  /** The attempt's folder, with `in/`, `out/` and `meta/`. */
  readonly folder: string;
}

export interface BackendHandle {
  readonly attemptId: string;
  /** Resolves when the attempt has ended, however it ended. */
  wait(signal: AbortSignal): Promise<AttemptEnd>;
  cancel(): Promise<void>;
  /** Standard output and error as they come. */
  follow(onChunk: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void): () => void;
}

/** Only `infrastructure` is tried again by itself; only `succeeded` is ever a result. */
export interface AttemptEnd {
  readonly status: 'succeeded' | 'failed' | 'lost';
  readonly failure?: 'tool' | 'limit' | 'infrastructure' | 'cancelled';
  readonly exitCode: number | null;
  readonly message: string;
  /** What was seen from inside: capabilities, interfaces, mounts. */
  readonly observed?: { readonly [fact: string]: unknown };
}
