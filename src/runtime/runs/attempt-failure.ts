// Owns: how an attempt that did not succeed is written down, and what its caller is told.
// Refuses: to call anything a result.
import { type FailureClass, reasonOfEnd } from '../../contract/attempt-cause.ts';
import { ATTEMPT_WORDS } from '../../contract/attempt-words.ts';
import type { AttemptEnd } from '../../contract/backend.ts';
import { type Failure, fail, isFailure, type Reason } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { AttemptRecord } from '../../contract/run.ts';
import type { AttemptFinish, EndState } from '../../contract/run-store.ts';

/** `failed` and `stderr` are for the caller; the store has the log. */
export type UnfinishedEnd = Omit<AttemptFinish, 'outputs' | 'data'> & {
  readonly failed?: Failure;
  readonly stderr?: string;
};

/** What a backend said. */
export function endOf({
  status,
  failure = 'infrastructure',
  cause,
  exitCode,
  message,
  observed,
  stderr,
}: AttemptEnd): UnfinishedEnd {
  const state: EndState = status === 'lost' ? 'lost' : failure === 'cancelled' ? 'cancelled' : 'failed';
  return {
    state,
    failure,
    cause: cause ?? null,
    exitCode,
    message,
    observed: (observed as JsonObject | undefined) ?? null,
    ...(stderr === undefined ? {} : { stderr }),
  };
}

/** What was thrown on the way. A failure of the table keeps its own words; the rest is a bug, and stays inside. */
export function endOfThrown(thrown: unknown, cancelled: boolean): UnfinishedEnd {
  const none = { cause: null, exitCode: null, observed: null };
  if (cancelled)
    return {
      ...none,
      state: 'cancelled',
      failure: 'cancelled',
      cause: 'cancelled',
      message: ATTEMPT_WORDS.cancelled,
    };
  if (!isFailure(thrown))
    return {
      ...none,
      state: 'failed',
      failure: 'infrastructure',
      message: 'Cannot finish the attempt: an internal error occurred',
    };
  if (thrown.reason === 'time.deadline')
    return {
      ...none,
      state: 'failed',
      failure: 'limit',
      cause: 'limit.run_time',
      message: thrown.message,
      failed: thrown,
    };
  return {
    ...none,
    state: 'failed',
    failure: CLASS_OF[thrown.reason] ?? 'tool',
    message: thrown.message,
    failed: thrown,
  };
}

/** What happened on the way and was nobody's program. */
const CLASS_OF: Partial<Record<Reason, FailureClass>> = {
  'run.infrastructure': 'infrastructure',
  'file.no_space': 'infrastructure',
  'file.io': 'infrastructure',
  'artifact.unknown': 'infrastructure',
  'object.missing': 'infrastructure',
  'object.corrupt': 'infrastructure',
  'sandbox.unavailable': 'infrastructure',
  'policy.denied': 'infrastructure',
};

/** For the caller. What has its own row of the table is told as that. */
export function failureOf(
  { runId, id }: Pick<AttemptRecord, 'runId' | 'id'>,
  end: UnfinishedEnd,
  log: string | undefined,
): Failure {
  const { failure, cause, exitCode, message, failed, stderr } = end;
  const details = {
    ...failed?.details,
    run_id: runId,
    attempt_id: id,
    ...(failure === null ? {} : { failure }),
    ...(cause === null ? {} : { cause }),
    ...(exitCode === null ? {} : { exit_code: exitCode }),
    ...(stderr === undefined ? {} : { stderr }),
    ...(log === undefined ? {} : { log }),
  };
  return fail(failed?.reason ?? reasonOfEnd(failure, cause), message, details);
}

/** Only what the machine did is tried again by itself. */
export const isTriedAgain = (thrown: unknown): boolean =>
  isFailure(thrown) && (thrown.reason === 'run.infrastructure' || thrown.reason === 'run.attempt_lost');
