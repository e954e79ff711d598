// Owns: the part of the store that keeps runs, their attempts and their results.
// Refuses: verifying objects and telling backends anything; `runtime/runs` does.
import type { Json, JsonObject } from './json.ts';
import type { ExecutionPlan } from './plan.ts';
import type { KeptResult } from './replay.ts';
import type { AttemptRecord, AttemptState, RunRecord, RunState } from './run.ts';

export interface RunStore {
  /**
   * Opens an attempt of a run, durably, in one step between all processes: where one of the same purpose is open already,
   * that one is answered and nothing is written. So one attempt of a run is under way at a time, whoever asks. Where the run
   * has got a result that the caller has not seen, the attempt that made it is answered.
   */
  begin(run: NewRun, attempt: NewAttempt, now: number): Promise<Begun>;
  /** Throws `run.state` for what `ATTEMPT_TRANSITIONS` does not hold, and where this process is not the owner. */
  move(attemptId: string, to: OpenState, now: number): Promise<void>;
  /** Ends an attempt with all that is to be known of it, durably, in one step with its run. Throws as `move`. */
  finish(attemptId: string, end: AttemptFinish, now: number): Promise<void>;
  /** Keeps what a toolpack wants to know after a crash. Durable. */
  checkpoint(attemptId: string, state: JsonObject): Promise<void>;
  /** Makes this process the owner of an open attempt whose owner is dead. Undefined: somebody else was faster. */
  adopt(attemptId: string): Promise<AttemptRecord | undefined>;
  /** Open attempts whose owner is dead, oldest first. */
  abandoned(): Promise<readonly AttemptRecord[]>;
  /** Marks the open attempts of a run as to be ended, and answers them. */
  requestCancel(runId: string, now: number): Promise<readonly AttemptRecord[]>;
  /** Keeps a result that came without an attempt; a run that has one already gets this one in its place. */
  keep(result: KeptResult, now: number): Promise<void>;
  get(runId: string): Promise<RunRecord | undefined>;
  attempt(attemptId: string): Promise<AttemptRecord | undefined>;
  /** Of one run, oldest first. */
  attempts(runId: string): Promise<readonly AttemptRecord[]>;
  /** Newest first. */
  list(query: RunQuery): Promise<readonly RunRow[]>;
}

export interface NewRun {
  readonly runId: string;
  readonly tool: string;
  readonly contract: string;
  readonly preimage: JsonObject;
  readonly args: JsonObject;
  readonly plan: ExecutionPlan;
  /** The call of the result that was looked at and found wanting; null or absent where there was none. */
  readonly seenResult?: string | null;
}

export type NewAttempt = Pick<AttemptRecord, 'id' | 'purpose' | 'backend' | 'callId'> &
  Partial<Pick<AttemptRecord, 'session'>>;

export interface Begun {
  /** False: it was there already. */
  readonly mine: boolean;
  readonly attempt: AttemptRecord;
}

export type OpenState = Extract<AttemptState, 'queued' | 'running'>;
export type EndState = Extract<AttemptState, 'succeeded' | 'failed' | 'cancelled' | 'lost'>;

export interface AttemptFinish
  extends Pick<AttemptRecord, 'failure' | 'cause' | 'exitCode' | 'message' | 'observed' | 'outputs'> {
  readonly state: EndState;
  /** Of a success: what the call answers. */
  readonly data?: Json;
}

export interface RunQuery {
  readonly tool?: string;
  readonly state?: RunState;
  readonly backend?: string;
  readonly sinceTs?: number;
  /** Only ids that begin so. */
  readonly prefix?: string;
  /** Runs that come after this one, in the order of the list. */
  readonly after?: string;
  /** By default 100. */
  readonly limit?: number;
}

/** A line of a list: the run without what is large. */
export interface RunRow
  extends Pick<RunRecord, 'runId' | 'tool' | 'contract' | 'state' | 'createdTs' | 'updatedTs'> {
  readonly attempts: number;
  /** Of the newest attempt. */
  readonly backend: string | null;
  readonly message: string;
}
