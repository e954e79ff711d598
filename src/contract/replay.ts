// Owns: where results of deterministic runs are kept and found again.
// Refuses: identity (base/run-id) and execution; a source only remembers.
import type { JsonObject } from './json.ts';
import type { ObjectId } from './object-store.ts';

export interface ReplaySource {
  /** A succeeded run whose every output is present and verifies. Anything else is undefined: a miss. */
  find(runId: string): Promise<ReplayHit | undefined>;
  /** Keeps a success. A failure, a time-out or a lost attempt is never kept. */
  keep(result: KeptResult): Promise<void>;
}

export interface ReplayHit {
  readonly data: unknown;
  readonly callId: string;
}

export interface KeptResult {
  readonly runId: string;
  readonly callId: string;
  /** What the run id was computed from, so that two runs can be compared field by field. */
  readonly preimage: JsonObject;
  readonly data: unknown;
  readonly outputs: readonly ObjectId[];
}
