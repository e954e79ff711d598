// Owns: audited calls decided again: which lines of haft.yaml would have admitted them, and which another policy decides otherwise.
// Refuses: making the calls, writing the file, and lines for what nothing can admit or for paths outside, which the audit does not keep.
import type { Effect } from '../contract/effect.ts';
import { type Decision, MANAGEMENT, type PolicyEngine, type Verdict } from '../contract/policy.ts';
import type { AuditRow } from '../contract/store.ts';
import type { GrantingEngine } from './create-policy-engine.ts';
import { type Danger, dangersOf } from './dangers.ts';
import { mergeGrants, renderGrant } from './grant.ts';
import type { Grant } from './section.ts';

interface Counted {
  /** How many audited calls. */
  readonly calls: number;
  readonly tools: readonly string[];
}

export interface Suggestions {
  /** The most wanted first: haft.yaml text that would have admitted these calls. */
  readonly suggestions: readonly (Counted & { readonly admit: string })[];
  /** All of them in one piece; empty where there is none. */
  readonly admit: string;
  /** Denied calls for which no line is offered, by the reason of the error table, the most frequent first. */
  readonly unoffered: readonly (Counted & { readonly reason: string })[];
  /** What would admit other calls, and is too dangerous to be offered: what was asked for, and why, the most wanted first. */
  readonly flagged: readonly (Counted & Danger)[];
}

const OUTSIDE = 'path.outside_workspace';

/** Decides every denied or asked call again under this engine, so that what is granted by now is left out. */
export async function suggestPolicy(
  rows: readonly Pick<AuditRow, 'tool' | 'effects' | 'decision' | 'callId' | 'errors'>[],
  engine: GrantingEngine,
): Promise<Suggestions> {
  await engine.ready(rows.flatMap(({ effects }): readonly Effect[] => effects));
  const found = new Map<string, Wanted & { readonly grant: Grant }>();
  const left = new Map<string, Wanted>();
  const flagged = new Map<string, Wanted & { readonly danger: Danger }>();
  const leave = (reason: string, { callId, tool }: Pick<AuditRow, 'callId' | 'tool'>) => {
    const known = left.get(reason) ?? { calls: new Set(), tools: new Set() };
    left.set(reason, { calls: known.calls.add(callId), tools: known.tools.add(tool) });
  };
  for (const row of rows) {
    const { tool, effects, decision, callId, errors } = row;
    // A path that leads out is refused before it is an effect, or, behind a link, after it was allowed.
    if (errors.some(({ reason }) => reason === OUTSIDE)) {
      leave(OUTSIDE, row);
      continue;
    }
    if (decision.verdict === 'allow') continue;
    const grant = engine.grantFor(tool, effects);
    if (!grant) leave(errors[0]?.reason ?? 'policy.denied', row);
    if (!grant || Object.keys(grant).length === 0) continue;
    const dangers = dangersOf(grant);
    for (const danger of dangers) {
      const key = JSON.stringify(danger);
      const known = flagged.get(key) ?? { danger, calls: new Set(), tools: new Set() };
      flagged.set(key, { danger, calls: known.calls.add(callId), tools: known.tools.add(tool) });
    }
    if (dangers.length > 0) continue;
    const admit = renderGrant(grant);
    const known = found.get(admit) ?? { grant, calls: new Set(), tools: new Set() };
    found.set(admit, { grant, calls: known.calls.add(callId), tools: known.tools.add(tool) });
  }
  const sorted = mostWanted(found);
  const counted = ({ calls, tools }: Wanted) => ({ calls: calls.size, tools: [...tools].sort() });
  return {
    suggestions: sorted.map(([admit, wanted]) => ({ admit, ...counted(wanted) })),
    admit: renderGrant(mergeGrants(sorted.map(([, { grant }]) => grant))),
    unoffered: mostWanted(left).map(([reason, wanted]) => ({ reason, ...counted(wanted) })),
    flagged: mostWanted(flagged).map(([, wanted]) => ({ ...wanted.danger, ...counted(wanted) })),
  };
}

interface Wanted {
  readonly calls: Set<string>;
  readonly tools: Set<string>;
}

const mostWanted = <T extends Wanted>(found: ReadonlyMap<string, T>) =>
  [...found].sort(([a, one], [b, other]) => other.calls.size - one.calls.size || (a < b ? -1 : 1));

// ------------------------------------------------------------------------------------------ replaying

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
