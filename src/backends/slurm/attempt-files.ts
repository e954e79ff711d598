// Owns: what is kept in an attempt's `meta/`, by name.
// Refuses: to write. Claim, result and end are each written once (`write-once.ts`), by whoever comes first.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttemptEnd } from '../../contract/backend.ts';

export interface AttemptFiles {
  /** That somebody meant to submit it. Durable before the first sbatch. */
  readonly intent: string;
  /** Touched before every sbatch. */
  readonly asked: string;
  /** That the caller wants it ended. */
  readonly cancel: string;
  /** Who executes it: a job, or nobody any more. */
  readonly claim: string;
  /** What the job says about its end. */
  readonly result: string;
  /** What the backend says about its end; the last word. */
  readonly end: string;
  readonly observed: string;
  /** Why the job could not start the program, in words. */
  readonly trouble: string;
  readonly log: string;
  readonly streams: Readonly<Record<'stdout' | 'stderr', string>>;
}

export function attemptFiles(folder: string): AttemptFiles {
  const meta = (name: string) => join(folder, 'meta', name);
  return {
    intent: meta('slurm.json'),
    asked: meta('slurm-asked'),
    cancel: meta('slurm-cancel'),
    claim: meta('claim'),
    result: meta('result.json'),
    end: meta('end.json'),
    observed: meta('observed'),
    trouble: meta('trouble'),
    log: meta('log'),
    streams: { stdout: meta('stdout'), stderr: meta('stderr') },
  };
}

/** Who took the claim. `nobody` makes sure that no job will ever execute the attempt. */
export type Claim =
  | { readonly by: 'job'; readonly job: string; readonly restart: number; readonly node: string }
  | { readonly by: 'nobody'; readonly end: AttemptEnd };

/** Milliseconds since it was written; infinite where it is not there. */
export async function ageOf(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
