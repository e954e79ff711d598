// Owns: what the cases of the store suite are given.
// Refuses: to name the cases; store-suite.ts collects them.
import type { Store } from '../../contract/store.ts';
import type { ConformanceCase, Environment } from '../conformance.ts';

export interface StoreEnvironment extends Environment {
  readonly store: Store;
  /** Another store over the same state, as another process (of that identity) would have it. Closed with the rest. */
  reopen(process?: string): Promise<Store>;
  /** Changes one stored row of the audit behind the store's back. */
  tamper(seq: number): Promise<void>;
  /** Identities as this store knows them: one of a process that runs, one of a process that ended. */
  readonly livingProcess: string;
  readonly deadProcess: string;
}

export type StoreCase = ConformanceCase<StoreEnvironment>;
