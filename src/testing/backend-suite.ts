// Owns: what every backend must do, as cases that any of them can be run through.
// Refuses: what only one engine can promise (containers, jobs, nodes); its own tests show that.
import type { BackendCase, BackendEnvironment } from './backend/environment.ts';
import { LIFECYCLE_CASES } from './backend/lifecycle-cases.ts';
import { FOLDER_CASES, OUTCOME_CASES } from './backend/outcome-cases.ts';
import { registerCases } from './conformance.ts';

export { makeAttempt } from './backend/environment.ts';
export type { BackendEnvironment };

export const BACKEND_CASES: readonly BackendCase[] = [...LIFECYCLE_CASES, ...OUTCOME_CASES, ...FOLDER_CASES];

export function backendSuite(name: string, open: () => Promise<BackendEnvironment>): void {
  registerCases(`${name} conforms to Backend`, BACKEND_CASES, open);
}
