// Owns: what sbatch says when it does not submit, and what that means: wait, ask first, or give up. All as data.
// Refuses: to take words that it does not know for a final no: the job may be there, so they mean "ask first".
import type { AttemptCause } from '../../contract/attempt-cause.ts';

export type Refusal =
  /** The cluster takes no more for now. Nothing was submitted; waiting helps. */
  | { readonly kind: 'wait' }
  /** The answer was lost: the job may be there. */
  | { readonly kind: 'unknown' }
  /** Asking again gives the same answer. */
  | { readonly kind: 'refused'; readonly cause: AttemptCause };

/** `words` is what sbatch wrote to standard error. */
export function refusalOf(words: string): Refusal {
  return TABLE.find(([pattern]) => pattern.test(words))?.[1] ?? { kind: 'unknown' };
}

const wait: Refusal = { kind: 'wait' };
const unknown: Refusal = { kind: 'unknown' };
const refused = (cause: AttemptCause): Refusal => ({ kind: 'refused', cause });

/** The first that matches counts. The texts are those of Slurm 20 to 24. */
const TABLE: readonly (readonly [RegExp, Refusal])[] = [
  // Limits on how much may be submitted or queued, by association, QOS, account or the whole cluster
  [/(Assoc|QOS)\w*Submit\w*|MaxSubmitJob/i, wait],
  [/temporarily unable to accept job|job queue full|ResourcesTemporarilyUnavailable/i, wait],
  [/Resource temporarily unavailable|Too many (array )?jobs|MaxJobCount/i, wait],
  [/slow down|rate limit/i, wait],

  // Nobody can say
  [/timed out|Unable to contact slurm controller|Zero Bytes were transmitted|Unexpected message/i, unknown],
  [
    /Connection (refused|reset)|Transport endpoint|Communication connection failure|in standby mode/i,
    unknown,
  ],

  // More than there is
  [/Requested node configuration is not available/i, refused('limit.resources')],
  [
    /More processors requested than permitted|Memory (specification|required by task)/i,
    refused('limit.resources'),
  ],
  [
    /Requested time limit is invalid|time limit exceeds|Node count specification invalid/i,
    refused('limit.resources'),
  ],
  [/Job violates accounting\/QOS policy/i, refused('limit.resources')],

  // What policy asks for is not there
  [
    /invalid (partition|account|qos|generic resource|constraint|feature|license)|reservation is invalid/i,
    refused('infrastructure.engine'),
  ],
  [
    /User's group not permitted|Access(\/permission)? denied|not permitted to use/i,
    refused('infrastructure.engine'),
  ],
  [
    /Unrecognized option|unrecognized argument|Batch script is empty|Invalid --|Invalid job/i,
    refused('infrastructure.engine'),
  ],
];
