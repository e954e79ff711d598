// Owns: what is kept of runs and attempts, the states that they can be in, and how one state may follow another.
// Refuses: execution (`backend.ts`) and storage (`run-store.ts`).
import type { AttemptCause, FailureClass } from './attempt-cause.ts';
import type { Json, JsonObject } from './json.ts';
import type { ObjectId } from './object-store.ts';
import type { ExecutionPlan } from './plan.ts';

/** `intended` is durable before the backend is told: what it may have begun is known by this id. */
export type AttemptState = 'intended' | 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'lost';

/** Of a run: how its newest attempt stands, verifications aside. One that was never attempted has its result only. */
export type RunState = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';

/** What may follow what. A state without followers is an end, and an end is for good. */
export const ATTEMPT_TRANSITIONS: Readonly<Record<AttemptState, readonly AttemptState[]>> = Object.freeze({
  intended: ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'lost'],
  queued: ['running', 'succeeded', 'failed', 'cancelled', 'lost'],
  // A cluster may put a job back.
  running: ['queued', 'succeeded', 'failed', 'cancelled', 'lost'],
  succeeded: [],
  failed: [],
  cancelled: [],
  lost: [],
});

/** A run whose result was lost or never came is tried again; a result is replaced by another result only. */
export const RUN_TRANSITIONS: Readonly<Record<RunState, readonly RunState[]>> = Object.freeze({
  queued: ['running', 'succeeded', 'failed', 'cancelled'],
  running: ['queued', 'succeeded', 'failed', 'cancelled'],
  succeeded: ['queued'],
  failed: ['queued', 'succeeded'],
  cancelled: ['queued', 'succeeded'],
});

export const isOpen = (state: AttemptState): boolean => ATTEMPT_TRANSITIONS[state].length > 0;

/** How a run stands when its newest attempt stands so. */
export const RUN_STATE_OF: Readonly<Record<AttemptState, RunState>> = Object.freeze({
  intended: 'queued',
  queued: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
  lost: 'failed',
});

export interface RunRecord {
  readonly runId: string;
  readonly tool: string;
  readonly contract: string;
  readonly state: RunState;
  /** What the run id was computed from, with the params themselves: what `explain` compares. */
  readonly preimage: JsonObject;
  /** As the call was made, so that it can be made again. Null where only a result was kept. */
  readonly args: JsonObject | null;
  /** Null for a deterministic tool that needs no backend. */
  readonly plan: ExecutionPlan | null;
  /** The answer of the call that succeeded last, and that call. */
  readonly result: {
    readonly data: Json;
    readonly callId: string;
    readonly outputs: readonly ObjectId[];
  } | null;
  readonly createdTs: number;
  readonly updatedTs: number;
}

export interface AttemptRecord {
  readonly id: string;
  readonly runId: string;
  /** Counts from 1 within its run. */
  readonly number: number;
  /** A verification executes the run again and leaves its result alone. */
  readonly purpose: 'run' | 'verify';
  readonly state: AttemptState;
  readonly backend: string;
  /** The process that conducts it. */
  readonly owner: string;
  readonly callId: string;
  /** Of the call that began it; null where that named none. */
  readonly session: string | null;
  readonly createdTs: number;
  readonly startedTs: number | null;
  readonly endedTs: number | null;
  readonly failure: FailureClass | null;
  readonly cause: AttemptCause | null;
  readonly exitCode: number | null;
  readonly message: string;
  /** What was seen from inside. */
  readonly observed: JsonObject | null;
  /** What the toolpack kept with `run.checkpoint`. */
  readonly checkpoint: JsonObject | null;
  /** Somebody asked to end it; its owner does. */
  readonly cancelTs: number | null;
  readonly outputs: readonly LinkedOutput[];
}

/** An artifact as an output of an attempt. Type and label belong to this link, not to the bytes. */
export interface LinkedOutput {
  readonly role: string;
  readonly type: string;
  readonly label: string;
  readonly artifact: ObjectId;
  readonly size: number;
}
