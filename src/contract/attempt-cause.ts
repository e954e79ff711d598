// Owns: the one table of why an attempt did not succeed, and the class of failure that each cause belongs to.
// Refuses: a cause that is not a row here; a new backend with a new way to fail adds its row.
import type { Reason } from './errors.ts';

/** Only `infrastructure` is tried again by itself. */
export type FailureClass = 'tool' | 'limit' | 'infrastructure' | 'cancelled';

export interface CauseRow {
  readonly failure: FailureClass;
  readonly status: 'failed' | 'lost';
  readonly meaning: string;
}

const row = (failure: FailureClass, meaning: string, status: CauseRow['status'] = 'failed'): CauseRow =>
  Object.freeze({ failure, status, meaning });

export const ATTEMPT_CAUSES = Object.freeze({
  // What the program did
  'tool.exit': row('tool', 'The program ended with another exit code than 0.'),
  'tool.signal': row('tool', 'A signal of its own making ended the program.'),
  'tool.not_started': row('tool', 'The program is not there or cannot be executed.'),
  'tool.outputs': row(
    'tool',
    'What lies in out/ is not what the plan declares: a file too many or too few, a link, a device.',
  ),

  // What it used up
  'limit.time': row('limit', 'It ran longer than its wall time.'),
  'limit.run_time': row(
    'limit',
    "The toolpack's own run() took longer than it may, the time of its program aside.",
  ),
  'limit.memory': row('limit', 'It, or a child of it, was ended because its memory was used up.'),
  'limit.output_bytes': row('limit', 'It wrote more bytes to out/ than it may.'),
  'limit.log_bytes': row('limit', 'It wrote more to standard output and error than is kept.'),
  'limit.resources': row(
    'limit',
    'It asks for more processors, memory or time than the engine gives anybody.',
  ),

  // What happened to it
  'infrastructure.engine': row('infrastructure', 'The engine refused, failed or could not be reached.'),
  'infrastructure.image': row('infrastructure', 'The image is not there, and images are never pulled.'),
  'infrastructure.disk_full': row('infrastructure', 'The disk was full while it ran.'),
  'infrastructure.killed': row(
    'infrastructure',
    'Something outside of it ended it: the engine, the machine or a person.',
  ),
  'infrastructure.node': row('infrastructure', 'The machine that it ran on failed or was taken away.'),
  'infrastructure.preempted': row('infrastructure', 'The engine gave its place to something more urgent.'),
  'infrastructure.requeued': row(
    'infrastructure',
    'The engine wanted to run it again from the start; an attempt executes once.',
  ),
  'infrastructure.outputs': row('infrastructure', 'The outputs are not those that the engine had hashed.'),
  'infrastructure.containment': row(
    'infrastructure',
    'What was observed from inside is not what policy demands.',
  ),
  lost: row('infrastructure', 'It was started, and nobody can say how it ended.', 'lost'),

  cancelled: row('cancelled', 'The caller cancelled it.'),
} satisfies Record<string, CauseRow>);

export type AttemptCause = keyof typeof ATTEMPT_CAUSES;

const REASONS: Readonly<Record<FailureClass, Reason>> = {
  tool: 'run.failed',
  limit: 'run.limit',
  infrastructure: 'run.infrastructure',
  cancelled: 'run.cancelled',
};

const OF_CAUSE: Partial<Record<AttemptCause, Reason>> = {
  'tool.outputs': 'run.outputs',
  'limit.time': 'time.deadline',
  'limit.run_time': 'time.deadline',
  lost: 'run.attempt_lost',
};

/** What the error table calls an attempt that ended so. */
export const reasonOfEnd = (failure: FailureClass | null, cause: AttemptCause | null): Reason =>
  (cause === null ? undefined : OF_CAUSE[cause]) ?? REASONS[failure ?? 'infrastructure'];
