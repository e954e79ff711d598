// Owns: rows of runs and attempts as the contract's records.
// Refuses: SQL; run-store.ts has it.
import type { AttemptCause, FailureClass } from '../../contract/attempt-cause.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { AttemptRecord, AttemptState, LinkedOutput, RunRecord, RunState } from '../../contract/run.ts';

export interface RunColumns {
  readonly run_id: string;
  readonly tool: string;
  readonly contract: string;
  readonly state: RunState;
  readonly preimage: string;
  readonly args: string | null;
  readonly plan: string | null;
  readonly result_json: string | null;
  readonly result_call: string | null;
  readonly result_outputs: string;
  readonly created_ts: number;
  readonly updated_ts: number;
}

export interface AttemptColumns {
  readonly id: string;
  readonly run_id: string;
  readonly number: number;
  readonly purpose: AttemptRecord['purpose'];
  readonly state: AttemptState;
  readonly backend: string;
  readonly owner: string;
  readonly call_id: string;
  readonly session: string | null;
  readonly created_ts: number;
  readonly started_ts: number | null;
  readonly ended_ts: number | null;
  readonly failure: FailureClass | null;
  readonly cause: AttemptCause | null;
  readonly exit_code: number | null;
  readonly message: string;
  readonly observed: string | null;
  readonly checkpoint: string | null;
  readonly cancel_ts: number | null;
}

export interface OutputColumns extends Omit<LinkedOutput, 'artifact'> {
  readonly artifact: string;
}

export function toRun(row: RunColumns): RunRecord {
  return {
    runId: row.run_id,
    tool: row.tool,
    contract: row.contract,
    state: row.state,
    preimage: JSON.parse(row.preimage),
    args: parse(row.args),
    plan: parse(row.plan),
    result:
      row.result_json === null
        ? null
        : {
            data: JSON.parse(row.result_json),
            callId: row.result_call ?? '',
            outputs: JSON.parse(row.result_outputs),
          },
    createdTs: row.created_ts,
    updatedTs: row.updated_ts,
  };
}

export function toAttempt(row: AttemptColumns, outputs: readonly OutputColumns[]): AttemptRecord {
  return {
    id: row.id,
    runId: row.run_id,
    number: row.number,
    purpose: row.purpose,
    state: row.state,
    backend: row.backend,
    owner: row.owner,
    callId: row.call_id,
    session: row.session,
    createdTs: row.created_ts,
    startedTs: row.started_ts,
    endedTs: row.ended_ts,
    failure: row.failure,
    cause: row.cause,
    exitCode: row.exit_code,
    message: row.message,
    observed: parse(row.observed),
    checkpoint: parse(row.checkpoint),
    cancelTs: row.cancel_ts,
    outputs: outputs.map((output) => ({ ...output, artifact: output.artifact as ObjectId })),
  };
}

const parse = <T>(text: string | null): T | null => (text === null ? null : JSON.parse(text));
