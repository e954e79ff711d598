// Owns: the name of an attempt's jobs in Slurm, by which they are found again: equal for one attempt, and for no other.
// Refuses: names that a person chose; two workspaces with equal runs on one cluster never meet.
import { canonicalText } from '../../base/canonical-json.ts';
import { digest, sha256Hex } from '../../base/digest.ts';

/** `scope` is what tells this workspace from every other one on the cluster. */
export function jobName(scope: string, attemptId: string): string {
  const body = canonicalText({ attempt: attemptId, scope });
  return `${jobPrefix(scope)}${digest('attempt/v1', body).slice(0, 40)}`;
}

export const jobPrefix = (scope: string): string => `haft-${sha256Hex(scope).slice(0, 12)}-`;
