// Owns: turning audited denials into the fewest lines of haft.yaml that would have admitted them.
// Refuses: what nothing can admit, and writing the file.
import type { Effect } from '../../contract/effect.ts';
import type { AuditRow } from '../../contract/store.ts';
import type { GrantingEngine } from './create-policy-engine.ts';
import { type Grant, mergeGrants, renderGrant } from './grant.ts';

interface Suggestion {
  /** haft.yaml text that admits these calls. */
  readonly admit: string;
  /** How many audited calls it would have admitted. */
  readonly calls: number;
  readonly tools: readonly string[];
}

export interface Suggestions {
  /** The most wanted first. */
  readonly suggestions: readonly Suggestion[];
  /** All of them in one piece; empty where there is none. */
  readonly admit: string;
}

/** Decides every denied or asked call again under this engine, so that what is granted by now is left out. */
export async function suggestPolicy(
  rows: readonly Pick<AuditRow, 'tool' | 'effects' | 'decision' | 'callId'>[],
  engine: GrantingEngine,
): Promise<Suggestions> {
  await engine.ready(rows.flatMap(({ effects }): readonly Effect[] => effects));
  const found = new Map<string, { grant: Grant; calls: Set<string>; tools: Set<string> }>();
  for (const { tool, effects, decision, callId } of rows) {
    if (decision.verdict === 'allow') continue;
    const grant = engine.grantFor(tool, effects);
    if (!grant || Object.keys(grant).length === 0) continue;
    const admit = renderGrant(grant);
    const known = found.get(admit) ?? { grant, calls: new Set(), tools: new Set() };
    found.set(admit, { grant, calls: known.calls.add(callId), tools: known.tools.add(tool) });
  }
  const sorted = [...found].sort(
    ([a, one], [b, other]) => other.calls.size - one.calls.size || (a < b ? -1 : 1),
  );
  return {
    suggestions: sorted.map(([admit, { calls, tools }]) => ({
      admit,
      calls: calls.size,
      tools: [...tools].sort(),
    })),
    admit: renderGrant(mergeGrants(sorted.map(([, { grant }]) => grant))),
  };
}
