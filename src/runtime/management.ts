// Owns: the audit row of what a person changed outside of calls, or tried to: a pack, an approval, a credential, trust.
// Refuses: values that could be secrets: it holds names, counts and digests, and who did it.
import { newId } from '../base/new-id.ts';
import type { ErrorEntry } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { MANAGEMENT } from '../contract/policy.ts';
import type { AuditEntry, AuditStore } from '../contract/store.ts';

export interface ManagementAct {
  /** The words of the command that does it, whichever door it came through: `haft tools add`. Never the id of a tool. */
  readonly action: string;
  /** Such as `cli:ada`, or `http` for whoever holds the token for management. */
  readonly by: string;
  /** What was changed, or was to be: names, counts and digests. */
  readonly facts: JsonObject;
  /** Why it failed: then how far it came is not known. */
  readonly error?: Pick<ErrorEntry, 'code' | 'reason'>;
}

/** Durable when it settles. */
export async function recordAct(
  audit: Pick<AuditStore, 'append'>,
  act: ManagementAct,
  site: { readonly process: string; now(): number },
): Promise<void> {
  await audit.append(entryOf(act, site.process, site.now()), true);
}

/** Of the account that runs this process, which the environment cannot say. */
export function localPerson(door = 'cli'): string {
  try {
    return `${door}:${process.getBuiltinModule('node:os').userInfo().username}`;
  } catch {
    return `${door}:uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

function entryOf({ action, by, facts, error }: ManagementAct, process: string, now: number): AuditEntry {
  return {
    phase: 'outcome',
    callId: newId('act'),
    requestId: '',
    tool: action,
    contract: '',
    argsHash: '',
    startTs: now,
    endTs: now,
    session: MANAGEMENT,
    attribution: { by },
    decision: { verdict: 'allow', rule: MANAGEMENT },
    effects: [],
    outcome: error ? 'failed' : 'ok',
    errors: error ? [{ code: error.code, reason: error.reason }] : [],
    policyHash: '',
    runId: null,
    changes: [],
    bytes: 0,
    facts,
    process,
  };
}
