// Owns: deciding audited calls again under another policy, and telling which would come out otherwise.
// Refuses: making the calls, and calls whose end was none of policy's doing.
import type { Effect } from '../contract/effect.ts';
import { type Decision, MANAGEMENT, type PolicyEngine, type Verdict } from '../contract/policy.ts';
import type { AuditRow } from '../contract/store.ts';

export interface DecisionChange<Row> {
  readonly row: Row;
  readonly before: Verdict;
  readonly after: Decision;
}

type DecidedRow = Pick<AuditRow, 'tool' | 'effects' | 'decision' | 'callId'>;

/** One line for each call that would be decided otherwise, in the order of the audit. */
export async function replayDecisions<Row extends DecidedRow>(
  rows: readonly Row[],
  engine: PolicyEngine,
): Promise<readonly DecisionChange<Row>[]> {
  await engine.ready?.(rows.flatMap(({ effects }): readonly Effect[] => effects));
  const seen = new Set<string>();
  const changes: DecisionChange<Row>[] = [];
  for (const row of rows) {
    // A mutating call has an intent and an outcome, with one decision.
    if (seen.has(row.callId) || !isDecidedByEffects(row)) continue;
    seen.add(row.callId);
    const { decision: after } = engine.decide(row.tool, row.effects);
    if (after.verdict !== row.decision.verdict) changes.push({ row, before: row.decision.verdict, after });
  }
  return changes;
}

/** Not what a person did, one that ended before policy was asked, nor one whose run policy did not let go where it was to go. */
const isDecidedByEffects = ({ decision: { rule } }: DecidedRow): boolean =>
  rule !== 'input' && rule !== MANAGEMENT && !rule.startsWith('runs.');
