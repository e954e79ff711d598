// Owns: runs from the side of a tool that looks after them: what it may ask, and what it is answered.
// Refuses: a way around the pipeline: what is submitted is a call like any other, of the same session.
import type { EngineJob } from './backend.ts';
import type { JsonObject } from './json.ts';
import type { AttemptRecord, RunRecord } from './run.ts';
import type { RunData } from './runs.ts';

/** `ctx.runs`: every question is admitted by the effects of the call. */
export interface RunsHandle {
  /**
   * Calls a tool of a toolpack in the session of this call, and answers as soon as its attempt is with the engine, or the
   * call is over: the run goes on. Rejects with whatever the call failed with. Tools that make no run are refused.
   */
  submit(request: RunSubmission): Promise<RunLook & Pick<SubmittedRun, 'replayed'>>;
  /** Throws `run.unknown`. What ended while nobody watched is finished first. */
  look(runId: string): Promise<RunLook>;
  /**
   * What a run that succeeded answers and made. Every output was verified just now: throws `object.missing` where one is
   * gone or is not what it was, and what the error table has for a run that has not succeeded.
   */
  collect(runId: string): Promise<RunData>;
  /**
   * Asks for the end of what is under way, and answers the run once it has ended or after a while. Throws `policy.denied`
   * where another session began it.
   */
  cancel(runId: string): Promise<RunLook>;
}

export interface RunSubmission {
  readonly tool: string;
  readonly args: JsonObject;
  /** Where policy is asked to let it run. */
  readonly backend: string;
}

export interface SubmittedRun {
  readonly runId: string;
  /** An earlier, verified result answered: there is nothing to wait for. */
  readonly replayed: boolean;
}

/** A run as it stands. */
export interface RunLook {
  readonly run: RunRecord;
  /** Oldest first. */
  readonly attempts: readonly AttemptRecord[];
  /** What the engine says of the attempt that is under way; null where none is, or where it says nothing. */
  readonly job: EngineJob | null;
}
