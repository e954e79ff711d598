// Owns: what every store must do, as cases that any store can be run through.
// Refuses: what only one store can promise (files, SQL, speed); its own tests show that.
import type { Store } from '../contract/store.ts';
import { type ConformanceCase, type Environment, registerCases } from './conformance.ts';
import { APPROVAL_CASES } from './store/approval-cases.ts';
import { AUDIT_CASES } from './store/audit-cases.ts';
import { CHAIN_CASES } from './store/chain-cases.ts';
import { LOCK_CASES } from './store/lock-cases.ts';
import { SESSION_CASES } from './store/session-cases.ts';

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

export const STORE_CASES: readonly StoreCase[] = [
  ...AUDIT_CASES,
  ...CHAIN_CASES,
  ...SESSION_CASES,
  ...APPROVAL_CASES,
  ...LOCK_CASES,
];

export function storeSuite(name: string, open: () => Promise<StoreEnvironment>): void {
  registerCases(`${name} conforms to Store`, STORE_CASES, open);
}
