// Owns: every state that Slurm gives a job, and what each means for an attempt. All as data.
// Refuses: to let a state alone be a success; and to take a state that it does not know for an end.
import type { AttemptCause } from '../../contract/attempt-cause.ts';

export type JobPhase = 'queued' | 'running' | 'ended' | 'unknown';

export interface JobState {
  readonly phase: JobPhase;
  /** How an attempt ended whose job is in this state and which left no result. */
  readonly end?: { readonly cause: AttemptCause; readonly fact: string };
}

/** The row of a state as squeue and sacct print it: `CANCELLED by 0`, `NODE_FAIL`, `RUNNING`. */
export function jobState(text: string): JobState {
  const [word = ''] = text.trim().split(/[ +]/);
  return STATES.get(word.toUpperCase()) ?? { phase: 'unknown' };
}

const queued: JobState = { phase: 'queued' };
const running: JobState = { phase: 'running' };
const ended = (cause: AttemptCause, fact: string): JobState => ({ phase: 'ended', end: { cause, fact } });

const STATES: ReadonlyMap<string, JobState> = new Map<string, JobState>([
  // Waits, perhaps again
  ['PENDING', queued],
  ['REQUEUED', queued],
  ['REQUEUE_FED', queued],
  ['REQUEUE_HOLD', queued],
  ['RESV_DEL_HOLD', queued],
  ['SPECIAL_EXIT', queued],

  // Has a node, or is about to let go of it
  ['CONFIGURING', running],
  ['POWER_UP_NODE', running],
  ['EXPEDITING', running],
  ['RUNNING', running],
  ['COMPLETING', running],
  ['RESIZING', running],
  ['SIGNALING', running],
  ['STAGE_OUT', running],
  ['STOPPED', running],
  ['SUSPENDED', running],
  ['UPDATE_DB', running],

  // Is over
  ['COMPLETED', ended('lost', 'Slurm calls its job completed, but it left no result')],
  ['FAILED', ended('infrastructure.engine', 'its job failed before it could leave a result')],
  ['CANCELLED', ended('cancelled', 'its job was cancelled')],
  ['TIMEOUT', ended('limit.time', 'its job reached the time limit that it had in Slurm')],
  ['DEADLINE', ended('limit.time', 'its job reached its deadline in Slurm')],
  ['OUT_OF_MEMORY', ended('limit.memory', 'its job used up the memory that it had in Slurm')],
  ['NODE_FAIL', ended('infrastructure.node', 'the node that its job ran on failed')],
  ['BOOT_FAIL', ended('infrastructure.node', 'the node for its job did not start')],
  ['LAUNCH_FAILED', ended('infrastructure.node', 'its job could not be launched on its node')],
  ['RECONFIG_FAIL', ended('infrastructure.node', 'the node for its job could not be configured')],
  ['PREEMPTED', ended('infrastructure.preempted', 'its job had to make room for a more urgent one')],
  ['REVOKED', ended('infrastructure.engine', 'its job was given to another cluster')],
]);

/** Whether a job that waits for this reason waits for ever, unless somebody changes something. */
export const isStuck = (reason: string): boolean => STUCK.test(reason);

const STUCK =
  /^(BadConstraints|Partition(Config|Down|Inactive|NodeLimit|TimeLimit)|InvalidAccount|InvalidQOS|AccountNotAllowed|QOSNotAllowed|ReservationDeleted|JobHeld\w+|launch failed requeued held|DependencyNeverSatisfied|FrontEndDown|\w+PerJob\w*)/;
