// Owns: what one rule has to say about one effect, and how what many say becomes a decision.
// Refuses: finding; that is the deciders' work.
import type { Effect } from '../contract/effect.ts';
import type { Reason } from '../contract/errors.ts';
import type { Decision, Verdict } from '../contract/policy.ts';
import { isStricter } from '../contract/policy-match.ts';
import { type Grant, mergeGrants, renderGrant } from './grant.ts';

export interface Finding {
  readonly verdict: Verdict;
  readonly rule: string;
  readonly line?: number | undefined;
  /** Of a denial; an ask is always `approval.pending`. */
  readonly reason?: Reason;
  /** Second half of the message: `paths.rules[2] (haft.yaml line 14) says deny`. */
  readonly fact: string;
  /** What would make this an allow; absent where nothing can. */
  readonly grant?: Grant | undefined;
}

/** Under a symbol, so that a decision that is printed or stored says it once, as `admit`. */
export const GRANT = Symbol.for('haft.grant');

export interface FindingDecision extends Decision {
  /** What would admit the call; absent for an allow, and where nothing can. */
  readonly [GRANT]?: Grant;
}

/** The strictest finding decides, the first of equals; the grant lifts all that stand in the way. */
export function decideFrom(
  findings: readonly Finding[],
  action: string,
  effect: Effect | undefined,
): FindingDecision {
  const first = findings[0] as Finding;
  let strictest = first;
  for (const one of findings) if (isStricter(one.verdict, strictest.verdict)) strictest = one;
  const { verdict, rule, line, reason, fact } = strictest;
  if (verdict === 'allow' && line === undefined && effect) {
    return { verdict, rule, message: `${action}: ${fact}`, effect };
  }
  const place = { ...(line === undefined ? {} : { line }), ...(effect ? { effect } : {}) };
  if (verdict === 'allow') return { verdict, rule, message: `${action}: ${fact}`, ...place };
  const grant = mergeObstacles(findings.map((one) => [one.verdict, one.grant]));
  return {
    verdict,
    rule,
    reason: verdict === 'ask' ? 'approval.pending' : (reason ?? 'policy.denied'),
    message: verdict === 'ask' ? `Cannot ${action} unasked: ${fact}` : `Cannot ${action}: ${fact}`,
    ...(grant ? { admit: renderGrant(grant), [GRANT]: grant } : {}),
    ...place,
  };
}

/** What would admit a call over which all of this was decided. */
export const grantOf = (decisions: readonly FindingDecision[]): Grant | undefined =>
  mergeObstacles(decisions.map((one) => [one.verdict, one[GRANT]]));

/** Undefined where one of those that stand in the way cannot be lifted. */
function mergeObstacles(all: readonly (readonly [Verdict, Grant | undefined])[]): Grant | undefined {
  const grants: Grant[] = [];
  for (const [verdict, grant] of all) {
    if (verdict === 'allow') continue;
    if (!grant) return undefined;
    grants.push(grant);
  }
  return mergeGrants(grants);
}
