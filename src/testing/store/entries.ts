// Owns: what the cases of the store suite are given: a store, and valid audit entries and approvals to vary.
// Refuses: randomness; a failing case must fail again.
import type { Approval, AuditEntry, Store } from '../../contract/store.ts';
import type { ConformanceCase, Environment } from '../conformance.ts';

export function entry(fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    phase: 'outcome',
    callId: 'call_1',
    requestId: 'req_1',
    tool: 'file_read',
    contract: 'v1',
    argsHash: 'a'.repeat(64),
    startTs: 1_700_000_000_000,
    endTs: 1_700_000_000_007,
    session: 'sess_1',
    attribution: null,
    decision: { verdict: 'allow', rule: 'tools.default' },
    effects: [{ kind: 'fs.read', path: 'src/lib.rs' }],
    outcome: 'ok',
    errors: [],
    policyHash: 'b'.repeat(64),
    runId: null,
    changes: [],
    bytes: 100,
    facts: null,
    process: '1::',
    ...fields,
  };
}

export function intent(fields: Partial<AuditEntry> = {}): AuditEntry {
  return entry({ phase: 'intent', outcome: 'pending', endTs: null, tool: 'file_write', ...fields });
}

/** A question asked at 1000 that nobody answers after 2000. */
export function question(
  fields: Partial<Approval> = {},
): Omit<Approval, 'status' | 'decidedTs' | 'decidedBy'> {
  return {
    id: 'appr_1',
    tool: 'file_write',
    contract: 'v1',
    policyHash: 'b'.repeat(64),
    paramsHash: 'c'.repeat(64),
    session: 'sess_1',
    createdTs: 1000,
    expiresTs: 2000,
    rule: 'tools.rules[0]',
    effects: [{ kind: 'fs.write', path: 'out.txt' }],
    admit: 'tools: {rules: [{tool: file_write, decision: allow}]}',
    details: null,
    ...fields,
  };
}

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
