// Owns: where a plan runs, and how an attempt is followed and adopted after a crash.
// Refuses: run identity and replay; a backend executes one attempt and says how it ended.
import { ATTEMPT_CAUSES, type AttemptCause, type FailureClass } from './attempt-cause.ts';
import type { ExecutionPlan } from './plan.ts';
import type { Variables } from './run-environment.ts';

/** A leaf below `backends/`; each passes `testing/backend-suite`. */
export interface Backend {
  readonly name: string;
  /**
   * Starts the attempt unless it is already there: the same attempt id never executes twice, not even when the process
   * that started it died half-way. Rejects with a failure of the table when policy forbids it and nothing was begun;
   * everything else that goes wrong is an end.
   */
  start(attempt: Attempt): Promise<BackendHandle>;
  /**
   * What became of an attempt that an earlier process started, as long as its folder is there. Undefined when it never
   * got here; it can be started then.
   */
  find(attempt: Attempt): Promise<BackendHandle | undefined>;
  /**
   * Ends and removes what is here of attempts of this workspace that are not open, and answers their ids. What is here
   * is listed before `isOpen` is asked, so that an attempt that was recorded before it was started is safe.
   */
  reap(isOpen: (attemptId: string) => Promise<boolean>): Promise<readonly string[]>;
  /** What the engine itself says of an attempt that is under way, where it has words of its own. */
  look?(attempt: Pick<Attempt, 'id'>): Promise<EngineJob | undefined>;
  /** Pins an image by what cannot change, where this backend runs images. Rejects when it is not there. */
  pinImage?(reference: string): Promise<PinnedImage>;
  /** What the ENV of a pinned image says, where this backend runs images; undefined when it is not there. */
  imageEnv?(image: string): Promise<Variables | undefined>;
  /** What answers here, in a few words. Rejects with `run.infrastructure` and what would help when nothing does. */
  probe?(): Promise<string>;
  /** Lets go of connections and timers. Attempts under way go on where the engine can carry them, to be found again. */
  close(): Promise<void>;
}

export interface Attempt {
  readonly id: string;
  readonly runId: string;
  readonly plan: ExecutionPlan;
  /**
   * The attempt's folder, absolute, with `in/` (already filled), `out/` and `meta/`. Once the attempt has ended,
   * `meta/log` holds its standard output and error.
   */
  readonly folder: string;
  readonly placement?: Placement;
}

/** Where on a cluster, as policy admits it. No part of any identity. */
export interface Placement {
  readonly partition?: string;
  readonly account?: string;
  readonly qos?: string;
  readonly gres?: string;
}

export interface EngineJob {
  /** The engine's own name for it: a job id. */
  readonly id: string;
  /** In the engine's words: `PENDING`. */
  readonly state: string;
  /** Why it waits, where the engine says. */
  readonly reason?: string;
  readonly phase: 'queued' | 'running' | 'ended' | 'unknown';
}

export interface BackendHandle {
  readonly attemptId: string;
  /**
   * Resolves when the attempt has ended, however it ended. When the signal aborts it rejects with its reason, and the
   * attempt goes on. On success exactly the declared outputs are in `out/`, and nothing runs that could change them.
   */
  wait(signal: AbortSignal): Promise<AttemptEnd>;
  /** Ends the attempt with everything that it started. What has ended already stays as it ended. */
  cancel(): Promise<void>;
  /** Standard output and error from their beginning, as they come. What it returns ends the following. */
  follow(onChunk: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void): () => void;
}

/** Only `infrastructure` is tried again by itself; only `succeeded` is ever a result. */
export interface AttemptEnd {
  readonly status: 'succeeded' | 'failed' | 'lost';
  readonly failure?: FailureClass;
  /** A row of `ATTEMPT_CAUSES`; absent on success. */
  readonly cause?: AttemptCause;
  readonly exitCode: number | null;
  readonly message: string;
  /** The last lines that the program wrote to standard error, where it failed: `withStderr` of `attempt-words.ts`. */
  readonly stderr?: string;
  /** What was seen from inside: capabilities, interfaces, mounts. */
  readonly observed?: { readonly [fact: string]: unknown };
}

/** The end of an attempt that did not succeed. `message` says the action first and the fact second. */
export function failedEnd(
  cause: AttemptCause,
  message: string,
  facts: Pick<AttemptEnd, 'observed'> & { readonly exitCode?: number | null } = {},
): AttemptEnd {
  const { failure, status } = ATTEMPT_CAUSES[cause];
  const { exitCode = null, observed } = facts;
  return { status, failure, cause, exitCode, message, ...(observed ? { observed } : {}) };
}

export interface PinnedImage {
  /** `name@sha256:…`, or the bare `sha256:…` of an image that has no repository digest. */
  readonly image: string;
  readonly by: 'repository_digest' | 'image_id';
}
