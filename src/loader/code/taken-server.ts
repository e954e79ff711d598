// Owns: what is known of the code of a server once it was taken: what is pinned of it, and how it is started.
// Refuses: to say how it was taken.
import type { Unpinned } from '../../contract/lock.ts';
import type { ProgramStart } from '../../contract/program.ts';

export interface TakenServer {
  /** Over all of it; undefined where there is nothing to pin. */
  readonly digest?: string;
  /** Every file, by a path that is the same on two machines, with its SHA-256. */
  readonly files: { readonly [path: string]: string };
  readonly unpinned: readonly Unpinned[];
  /** Looked at again at every start. Throws `tool.changed`. */
  start(): ProgramStart;
}
