// Owns: what one program needs of whatever contains it on a node.
// Refuses: to say what contains it.
import type { RunResources } from '../../contract/plan.ts';

export interface ContainedProgram {
  readonly attemptId: string;
  readonly argv: readonly string[];
  /** Without PATH and what else the image brings. */
  readonly env: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly resources: RunResources;
}

/** What a job of root becomes: a user id of no account, "haft" in hex. */
export const OUTSIDE_ID = 0x68616674;
