// Owns: what a deterministic run would execute, in terms that every backend understands.
// Refuses: host paths, times and machines: nothing here may differ between two equal runs.
import type { ObjectId } from './object-store.ts';

/**
 * Where a program finds its files on every backend: it starts in `/work`, `/work/in` is read-only, and only `/work/out`
 * (and `/tmp`) can be written.
 */
export const WORK_FOLDER = '/work';

export interface RunInput {
  readonly role: string;
  readonly artifact: ObjectId;
  /** A safe relative path below `in/`, unique in its plan. */
  readonly dest: string;
}

export interface DeclaredOutput {
  readonly role: string;
  readonly type: string;
  readonly label: string;
  /** A safe relative path below `out/`; one that ends with a slash is a folder. The role `log` is reserved. */
  readonly src: string;
}

export interface ExecutionPlan {
  /** Pinned by digest; absent where the backend runs without images. */
  readonly image?: string;
  readonly argv: readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly inputs: readonly RunInput[];
  readonly outputs: readonly DeclaredOutput[];
  readonly resources: RunResources;
}

export interface RunResources {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly wallMs: number;
  readonly outputBytes: number;
}
