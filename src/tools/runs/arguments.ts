// Owns: the arguments and answer fields that the tools of runs share, each described once.
// Refuses: fields of one tool only; those stay in the tool's file.
import type { ToolContext } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { BackendName } from '../../contract/policy.ts';
import { type AttemptRecord, RUN_TRANSITIONS } from '../../contract/run.ts';
import type { RunLook } from '../../contract/runs.ts';
import { record } from '../fs/arguments.ts';

export const RUN_ID: JsonSchema = {
  type: 'string',
  pattern: '^run_[0-9a-f]{64}$',
  description: 'Run id, "run_…".',
};

export interface RunArgs {
  readonly run_id: string;
}

export const RUN_ARGS = record({ run_id: RUN_ID }, ['run_id']);

/** Finishing what ended meanwhile means to hash what it made. */
export const LIMITS = {
  timeoutMs: 600_000,
  maxInputBytes: 1024 * 1024,
  maxOutputBytes: 16 * 1024 * 1024,
} as const;

export const EXAMPLE_RUN = `run_${'0'.repeat(64)}`;

/** How a run stands. */
export interface RunFields {
  readonly run_id: string;
  readonly tool: string;
  readonly state: string;
  readonly attempts: number;
  readonly attempt: JsonObject | null;
  readonly job: JsonObject | null;
}

const nullable = (type: string): JsonSchema => ({ type: [type, 'null'] });

const ATTEMPT = {
  ...(record(
    {
      attempt_id: { type: 'string' },
      number: { type: 'integer', description: 'Counts from 1 within its run.' },
      backend: { type: 'string' },
      state: { type: 'string' },
      created: { type: 'string' },
      started: nullable('string'),
      ended: nullable('string'),
      failure: nullable('string'),
      cause: nullable('string'),
      exit_code: nullable('integer'),
      message: { type: 'string' },
      log: {
        ...(nullable('string') as object),
        description: 'What it printed, as an artifact, once it ended.',
      },
    },
    ['attempt_id', 'number', 'backend', 'state', 'created', 'started', 'ended', 'message'],
  ) as object),
  type: ['object', 'null'],
  description: 'The newest attempt.',
};

const JOB = {
  ...(record(
    {
      id: { type: 'string' },
      state: { type: 'string', description: "In the engine's words: PENDING, RUNNING." },
      reason: { type: 'string', description: 'Why it waits.' },
      phase: { enum: ['queued', 'running', 'ended', 'unknown'] },
    },
    ['id', 'state', 'phase'],
  ) as object),
  type: ['object', 'null'],
  description: 'What the engine says of it while it is under way; null where it says nothing.',
};

export const RUN_FIELDS = {
  run_id: RUN_ID,
  tool: { type: 'string' },
  state: { enum: Object.keys(RUN_TRANSITIONS) },
  attempts: { type: 'integer', description: 'How many there were, this one included.' },
  attempt: ATTEMPT,
  job: JOB,
} as const;

export const RUN_FIELD_NAMES = Object.keys(RUN_FIELDS);

/** Nobody needs a tool of an engine that policy lets nothing run on. */
export const onBackend = (backend: BackendName) => ({ kind: 'run.backend', backend }) as const;

/** What the tools have in common that look at a run of one engine. */
export const lookingOn = (backend: BackendName) => ({
  limits: LIMITS,
  input: RUN_ARGS,
  output: record(RUN_FIELDS, RUN_FIELD_NAMES),
  needs: () => [onBackend(backend)],
  effects: ({ run_id: run }: RunArgs) => [onBackend(backend), { kind: 'run.read', run } as const],
  async run({ run_id }: RunArgs, ctx: ToolContext): Promise<RunFields> {
    const look = await ctx.runs.look(run_id);
    requireBackend(look, backend);
    return runFields(look);
  },
});

/** Throws `run.unknown` for a run of another engine. */
export function requireBackend({ run, attempts }: RunLook, backend: string): void {
  const newest = newestOf(attempts);
  if (newest?.backend === backend) return;
  const where = newest ? `its newest attempt is on "${newest.backend}"` : 'it needed no engine';
  throw fail('run.unknown', `Cannot find the run ${run.runId} on ${backend}: ${where}`);
}

/** Verifications aside. */
const newestOf = (attempts: RunLook['attempts']) => attempts.findLast(({ purpose }) => purpose === 'run');

export function runFields({ run, attempts, job }: RunLook): RunFields {
  const newest = newestOf(attempts);
  return {
    run_id: run.runId,
    tool: run.tool,
    // It is with the engine, and there it waits.
    state: job?.phase === 'queued' ? 'queued' : run.state,
    attempts: attempts.length,
    attempt: newest ? attemptFields(newest) : null,
    job: job ? { ...job } : null,
  };
}

function attemptFields(attempt: AttemptRecord): JsonObject {
  const log = attempt.outputs.find(({ role }) => role === 'log');
  return {
    attempt_id: attempt.id,
    number: attempt.number,
    backend: attempt.backend,
    state: attempt.state,
    created: shown(attempt.createdTs) as string,
    started: shown(attempt.startedTs),
    ended: shown(attempt.endedTs),
    failure: attempt.failure,
    cause: attempt.cause,
    exit_code: attempt.exitCode,
    message: attempt.message,
    log: log?.artifact ?? null,
  };
}

const shown = (ts: number | null): string | null => (ts === null ? null : new Date(ts).toISOString());
