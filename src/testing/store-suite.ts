// Owns: what every store must do, as cases that any store can be run through.
// Refuses: what only one store can promise (files, SQL, speed); its own tests show that.
import { registerCases } from './conformance.ts';
import { APPROVAL_CASES } from './store/approval-cases.ts';
import { ARTIFACT_CASES } from './store/artifact-cases.ts';
import { AUDIT_CASES, CHAIN_CASES } from './store/audit-cases.ts';
import type { StoreCase, StoreEnvironment } from './store/entries.ts';
import { CREDENTIAL_CASES, INSTALLATION_CASES } from './store/installation-cases.ts';
import { LOCK_CASES } from './store/lock-cases.ts';
import { RETENTION_CASES } from './store/retention-cases.ts';
import { RUN_CASES } from './store/run-cases.ts';
import { SESSION_CASES } from './store/session-cases.ts';

export type { StoreEnvironment };

export const STORE_CASES: readonly StoreCase[] = [
  ...AUDIT_CASES,
  ...CHAIN_CASES,
  ...SESSION_CASES,
  ...APPROVAL_CASES,
  ...LOCK_CASES,
  ...CREDENTIAL_CASES,
  ...RUN_CASES,
  ...ARTIFACT_CASES,
  ...INSTALLATION_CASES,
  ...RETENTION_CASES,
];

export function storeSuite(name: string, open: () => Promise<StoreEnvironment>): void {
  registerCases(`${name} conforms to Store`, STORE_CASES, open);
}
