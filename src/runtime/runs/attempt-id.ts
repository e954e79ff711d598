// Owns: the names of attempts, which backends give to containers and jobs.
// Refuses: a name that two workspaces could both come to.
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import type { NewId } from '../../contract/runtime.ts';

export const newAttemptId = (newId: NewId, runId: string): string =>
  `att_${digest('attempt/v1', canonicalJson({ nonce: newId('attempt'), run: runId }))}`;
