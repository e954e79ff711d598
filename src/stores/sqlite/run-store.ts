// Owns: runs and attempts in the SQLite store: one open attempt of a run at a time, between all processes.
// Refuses: a state that cannot follow the one before, and an attempt that another process conducts.
import { canonicalText } from '../../base/canonical-json.ts';
import type { AttemptCause, FailureClass } from '../../contract/attempt-cause.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { AttemptRecord, AttemptState, LinkedOutput, RunRecord, RunState } from '../../contract/run.ts';
import { ATTEMPT_TRANSITIONS, isOpen, RUN_STATE_OF } from '../../contract/run.ts';
import type { AttemptFinish, RunQuery, RunRow, RunStore } from '../../contract/run-store.ts';
import { isAlive } from '../process-identity.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

const OPEN = "state IN ('intended', 'queued', 'running')";
const PUT_RUN = `INSERT INTO runs (run_id, tool, contract, state, preimage, args, plan, inputs, result_outputs, attempts,
  backend, message, created_ts, updated_ts) VALUES (?1, ?2, ?3, 'queued', ?4, ?5, ?6, ?7, '[]', 1, ?8, '', ?9, ?9)
  ON CONFLICT (run_id) DO UPDATE SET state = 'queued', args = ?5, plan = ?6, inputs = ?7, attempts = attempts + 1,
    backend = ?8, message = '', updated_ts = ?9`;
const PUT_ATTEMPT = `INSERT INTO attempts (id, run_id, number, purpose, state, backend, owner, call_id, created_ts, message, session)
  VALUES (?1, ?2, (SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE run_id = ?2), ?3, 'intended', ?4, ?5, ?6, ?7, '', ?8)`;
const OPEN_OF_RUN = `SELECT * FROM attempts WHERE run_id = ? AND purpose = ? AND ${OPEN}`;
const MADE_SINCE = `SELECT attempts.* FROM runs JOIN attempts ON attempts.run_id = runs.run_id
  AND attempts.call_id = runs.result_call AND attempts.state = 'succeeded' AND attempts.purpose = 'run'
  WHERE runs.run_id = ? AND runs.result_call <> ? ORDER BY attempts.number DESC LIMIT 1`;
const BY_ID = 'SELECT * FROM attempts WHERE id = ?';
const MOVE = 'UPDATE attempts SET state = ?2, started_ts = coalesce(started_ts, ?3) WHERE id = ?1';
const FINISH = `UPDATE attempts SET state = ?2, ended_ts = ?3, failure = ?4, cause = ?5, exit_code = ?6, message = ?7,
  observed = ?8 WHERE id = ?1`;
const PUT_OUTPUT = `INSERT OR REPLACE INTO run_outputs (attempt_id, role, type, label, artifact, size)
  VALUES (?, ?, ?, ?, ?, ?)`;
const RUN_STATE = 'UPDATE runs SET state = ?2, message = ?3, updated_ts = ?4 WHERE run_id = ?1';
const RESULT = 'UPDATE runs SET result_json = ?2, result_call = ?3, result_outputs = ?4 WHERE run_id = ?1';
const KEEP = `INSERT INTO runs (run_id, tool, contract, state, preimage, inputs, result_json, result_call, result_outputs,
  attempts, message, created_ts, updated_ts) VALUES (?1, ?2, ?3, 'succeeded', ?4, '[]', ?5, ?6, ?7, 0, '', ?8, ?8)
  ON CONFLICT (run_id) DO UPDATE SET state = 'succeeded', result_json = ?5, result_call = ?6, result_outputs = ?7,
    updated_ts = ?8`;
const LIST = `SELECT run_id AS runId, tool, contract, state, attempts, backend, message, created_ts AS createdTs,
  updated_ts AS updatedTs FROM runs WHERE n < ?1 AND (?2 IS NULL OR tool = ?2) AND (?3 IS NULL OR state = ?3)
  AND (?4 IS NULL OR backend = ?4) AND created_ts >= ?5 ORDER BY n DESC LIMIT ?6`;
/** The same with the index that fits: SQLite takes none for a condition that may be absent. */
const listOf = ({ tool, state, prefix }: RunQuery): string => {
  const list =
    tool !== undefined
      ? LIST.replace('(?2 IS NULL OR tool = ?2)', 'tool = ?2')
      : state !== undefined
        ? LIST.replace('(?3 IS NULL OR state = ?3)', 'state = ?3')
        : LIST;
  return prefix === undefined ? list : list.replace('n < ?1', `n < ?1 AND ${BEGINS}`);
};
const BEGINS = 'run_id >= ?7 AND run_id < ?7 || char(1114111)';

export function createRunStore(connection: Connection, group: GroupCommit, self: string): RunStore {
  const outputsOf = (id: string): OutputColumns[] =>
    connection
      .sql('SELECT role, type, label, artifact, size FROM run_outputs WHERE attempt_id = ? ORDER BY n')
      .all(id) as unknown as OutputColumns[];
  const attemptOf = (row: unknown): AttemptRecord => {
    const columns = row as AttemptColumns;
    return toAttempt(columns, isOpen(columns.state) ? [] : outputsOf(columns.id));
  };
  const find = (id: string): AttemptRecord | undefined => {
    const row = connection.sql(BY_ID).get(id);
    return row && attemptOf(row);
  };
  /** Inside a transaction: the attempt, conducted by this process, if it may become that. */
  const own = (id: string, what: string, may: (state: AttemptState) => boolean): AttemptRecord => {
    const attempt = find(id);
    const cannot = `Cannot ${what} the attempt ${id}`;
    if (!attempt) throw fail('run.state', `${cannot}: there is none of that id`);
    if (!may(attempt.state)) throw fail('run.state', `${cannot}: it is "${attempt.state}"`);
    if (attempt.owner !== self) throw fail('run.state', `${cannot}: another process conducts it`);
    return attempt;
  };
  const toward = (id: string, to: AttemptState): AttemptRecord =>
    own(id, `make "${to}" of`, (state) => ATTEMPT_TRANSITIONS[state].includes(to));
  const setRun = (
    { runId, purpose }: AttemptRecord,
    to: AttemptState,
    message: string,
    now: number,
  ): void => {
    if (purpose === 'run') connection.sql(RUN_STATE).run(runId, RUN_STATE_OF[to], message, now);
  };
  const end = (attempt: AttemptRecord, finish: AttemptFinish, now: number): void => {
    const { state, failure, cause, exitCode, message, observed, outputs, data } = finish;
    const { id, runId, purpose, callId } = attempt;
    connection
      .sql(FINISH)
      .run(id, state, now, failure, cause, exitCode, message, observed && JSON.stringify(observed));
    for (const { role, type, label, artifact, size } of outputs)
      connection.sql(PUT_OUTPUT).run(id, role, type, label, artifact, size);
    setRun(attempt, state, message, now);
    if (purpose !== 'run' || data === undefined) return;
    const ids = JSON.stringify(outputs.map(({ artifact }) => artifact));
    connection.sql(RESULT).run(runId, JSON.stringify(data), callId, ids);
  };

  return {
    begin(run, { id, purpose, backend, callId, session = null }, now) {
      const { runId, tool, contract, plan } = run;
      const inputs = JSON.stringify(plan.inputs.map(({ artifact }) => artifact));
      const [preimage, args, planned] = [run.preimage, run.args, plan].map(canonicalText) as [
        string,
        string,
        string,
      ];
      return group.enqueue(() => {
        const open = connection.sql(OPEN_OF_RUN).get(runId, purpose);
        if (open) return { mine: false, attempt: attemptOf(open) };
        const made =
          purpose === 'run' ? connection.sql(MADE_SINCE).get(runId, run.seenResult ?? '') : undefined;
        if (made) return { mine: false, attempt: attemptOf(made) };
        if (purpose === 'run')
          connection.sql(PUT_RUN).run(runId, tool, contract, preimage, args, planned, inputs, backend, now);
        connection.sql(PUT_ATTEMPT).run(id, runId, purpose, backend, self, callId, now, session);
        return { mine: true, attempt: find(id) as AttemptRecord };
      }, true);
    },
    move: (id, to, now) =>
      group.enqueue(() => {
        const attempt = toward(id, to);
        connection.sql(MOVE).run(id, to, to === 'running' ? now : null);
        setRun(attempt, to, '', now);
      }),
    finish: (id, finish, now) => group.enqueue(() => end(toward(id, finish.state), finish, now), true),
    checkpoint(id, state) {
      const text = canonicalText(state);
      return group.enqueue(() => {
        own(id, 'keep the state of', isOpen);
        connection.sql('UPDATE attempts SET checkpoint = ? WHERE id = ?').run(text, id);
      }, true);
    },
    adopt: (id) =>
      group.enqueue(() => {
        const attempt = find(id);
        if (!attempt || !isOpen(attempt.state) || isAlive(attempt.owner)) return undefined;
        connection.sql('UPDATE attempts SET owner = ? WHERE id = ?').run(self, id);
        return { ...attempt, owner: self };
      }, true),
    async abandoned() {
      const rows = await connection.read(() =>
        connection.sql(`SELECT * FROM attempts WHERE ${OPEN} ORDER BY n`).all(),
      );
      return rows.map(attemptOf).filter(({ owner }) => !isAlive(owner));
    },
    requestCancel: (runId, now) =>
      group.enqueue(() => {
        const sql = `UPDATE attempts SET cancel_ts = coalesce(cancel_ts, ?) WHERE run_id = ? AND ${OPEN} RETURNING *`;
        return connection.sql(sql).all(now, runId).map(attemptOf);
      }, true),
    keep({ runId, callId, preimage, data, outputs }, now) {
      const [tool, contract] = [preimage.tool, preimage.contractVersion].map((value) => String(value ?? ''));
      const values = [
        canonicalText(preimage),
        JSON.stringify(data),
        callId,
        JSON.stringify(outputs),
      ] as const;
      return group.enqueue(() => {
        connection.sql(KEEP).run(runId, tool as string, contract as string, ...values, now);
      });
    },
    async get(runId) {
      const row = await connection.read(() =>
        connection.sql('SELECT * FROM runs WHERE run_id = ?').get(runId),
      );
      return row && toRun(row as unknown as RunColumns);
    },
    attempt: (id) => connection.read(() => find(id)),
    attempts: (runId) =>
      connection.read(() =>
        connection.sql('SELECT * FROM attempts WHERE run_id = ? ORDER BY number').all(runId).map(attemptOf),
      ),
    list(query) {
      const { tool = null, state = null, backend = null, sinceTs = 0, prefix, after, limit = 100 } = query;
      return connection.read(() => {
        const from =
          after === undefined ? undefined : connection.sql('SELECT n FROM runs WHERE run_id = ?').get(after);
        if (after !== undefined && !from)
          throw fail('run.unknown', `Cannot list what comes after ${after}: no run has this id`);
        const place = (from?.n as number | undefined) ?? Number.MAX_SAFE_INTEGER;
        const begins = prefix === undefined ? [] : [prefix];
        const rows = connection
          .sql(listOf(query))
          .all(place, tool, state, backend, sinceTs, limit, ...begins);
        return rows.map((row) => ({ ...row }) as unknown as RunRow);
      });
    },
  };
}

interface RunColumns {
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

interface AttemptColumns {
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

interface OutputColumns extends Omit<LinkedOutput, 'artifact'> {
  readonly artifact: string;
}

function toRun(row: RunColumns): RunRecord {
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

function toAttempt(row: AttemptColumns, outputs: readonly OutputColumns[]): AttemptRecord {
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
