// Owns: what one program needs of whatever contains it on a node.
// Refuses: to say what contains it.
import type { RunResources } from '../../contract/plan.ts';

export interface ContainedProgram {
  readonly attemptId: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly resources: RunResources;
}

/** Inside; no program can tell one node from another by it. */
export const HOST_NAME = 'haft';

/** What a job of root becomes: a user id of no account, "haft" in hex. */
export const OUTSIDE_ID = 0x68616674;
