// Owns: runs from the side of a tool that looks after them: what it may ask, and what it is answered.
// Refuses: a way around the pipeline: what is submitted is a call like any other, of the same session.
import type { RunData, RunLook, RunSubmission, SubmittedRun } from './runs.ts';

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
