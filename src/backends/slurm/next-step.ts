// Owns: what to do about an attempt, from what lies in its folder and what Slurm shows. Pure: no clock, no disk, no Slurm.
// Refuses: to submit what was claimed, to end what may still run, and to take silence for an answer before time has passed.
import { ATTEMPT_WORDS } from '../../contract/attempt-words.ts';
import { type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import type { Claim } from './attempt-files.ts';
import type { JobResult } from './job-script.ts';
import { type JobPhase, type JobRow, jobState } from './slurm-client.ts';

export interface Facts {
  /** What Slurm shows under its name. Asked for after the claim was read, and before the result was. */
  readonly rows: readonly JobRow[];
  readonly claim: Claim | undefined;
  readonly result: JobResult | undefined;
  readonly cancelAsked: boolean;
  /** Since somebody last called sbatch for it. */
  readonly sinceAskedMs: number;
  /** For how long `rows` have shown that it is over, or nothing at all. */
  readonly quietMs: number;
  /** After which an answer of sbatch, a file of a job or a row of the accounting is no longer on its way. */
  readonly settleMs: number;
}

export type Step =
  | { readonly do: 'wait' }
  | { readonly do: 'submit' }
  /** No job holds the claim: it must be taken, so that none ever will, before this is the end. */
  | { readonly do: 'seal'; readonly end: AttemptEnd }
  /** `leftover`: whether jobs of its name may still wait to run. */
  | { readonly do: 'end'; readonly end: AttemptEnd; readonly leftover: boolean };

/** A result that is not `told` is for the verdict, and does not come here. */
export function nextStep(facts: Facts): Step {
  const { claim, result, rows } = facts;
  if (claim?.by === 'nobody') return { do: 'end', end: claim.end, leftover: true };
  const holder = result?.job ?? claim?.job;
  if (holder === undefined) return unclaimedStep(facts);
  const row = rows.find(({ id }) => id === holder);
  if (result && facts.cancelAsked) return { do: 'end', end: cancelledEnd(), leftover: rows.length > 1 };
  const phase = row ? jobState(row.state).phase : 'gone';
  return CLAIMED[phase](facts, row);
}

export const cancelledEnd = (): AttemptEnd => failedEnd('cancelled', ATTEMPT_WORDS.cancelled);

/** The job that executes the attempt, by what Slurm says about it. */
const CLAIMED: Readonly<Record<JobPhase | 'gone', (facts: Facts, row: JobRow | undefined) => Step>> = {
  running: () => ({ do: 'wait' }),
  unknown: () => ({ do: 'wait' }),
  queued: () => ({
    do: 'end',
    end: failedEnd(
      'infrastructure.requeued',
      'Ended the attempt: Slurm put its job back into the queue after it had begun',
    ),
    leftover: true,
  }),
  ended: (facts, row) =>
    isSettled(facts) || facts.result ? over(facts, endOf(row!, facts)) : { do: 'wait' },
  gone: (facts) => {
    if (facts.quietMs < GONE * facts.settleMs) return { do: 'wait' };
    const [cause, fact] = facts.result
      ? (['infrastructure.killed', 'something told its job to end, and Slurm no longer knows what'] as const)
      : (['lost', 'its job began, and Slurm no longer knows it'] as const);
    return over(facts, failedEnd(cause, `Cannot finish the attempt: ${fact}`));
  },
};

/** The accounting may be behind by many seconds. */
const GONE = 5;

const isSettled = ({ quietMs, settleMs }: Facts) => quietMs >= settleMs;
const over = ({ rows }: Facts, end: AttemptEnd): Step => ({ do: 'end', end, leftover: rows.length > 1 });

function unclaimedStep(facts: Facts): Step {
  const { rows, sinceAskedMs, settleMs } = facts;
  const last = rows.at(-1);
  if (!last) return sinceAskedMs < settleMs ? { do: 'wait' } : { do: 'submit' };
  const over = rows.every(({ state }) => jobState(state).phase === 'ended');
  if (!over || !isSettled(facts)) return { do: 'wait' };
  return { do: 'seal', end: endOf(last, facts) };
}

function endOf(row: JobRow, { result, cancelAsked }: Facts): AttemptEnd {
  const { end } = jobState(row.state);
  if (!end) throw new TypeError(`${row.state} is no end`);
  if (end.cause === 'cancelled' && cancelAsked) return cancelledEnd();
  // It was told to end, obeyed, and its own exit code is all that Slurm has.
  if (result && (end.cause === 'lost' || end.cause === 'infrastructure.engine'))
    return failedEnd(
      'infrastructure.killed',
      'Ended the attempt: something outside of it told its job to end',
    );
  const what = end.cause === 'cancelled' ? ATTEMPT_WORDS.cancelled : 'Cannot finish the attempt';
  return failedEnd(end.cause, `${what}: ${end.fact} (job ${row.id}, ${row.state})`);
}
