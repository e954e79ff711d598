// Owns: for tests of deciding: effects short to write, and cases that say what an effect is decided to, by which rule.
// Refuses: policies of its own, beyond the one that several tests read.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { engineFrom } from '../../test/support/policy-from-text.ts';
import type { Effect } from '../contract/effect.ts';

export interface DecisionCase {
  readonly when: string;
  readonly policy?: string;
  readonly tool?: string;
  readonly effect: Effect;
  /** The verdict, the rule, and for a denial the reason where it is not `policy.denied`. */
  readonly is: string;
  readonly line?: number;
}

/** A test for each. */
export function itDecides(cases: readonly DecisionCase[]): void {
  for (const { when, policy = '', tool = 'some_tool', effect, is, line } of cases) {
    it(`${when}: ${is}`, async () => {
      const engine = await engineFrom(policy);
      const decision = engine.decideEffect(tool, effect);
      const [verdict, rule, reason] = is.split(' ');
      // Where both allow, the effect is what a reader asks about; the tool is told apart by its own rule.
      const told = engine.decide(tool, [effect]);
      const decided = decision.rule === rule ? decision : told.decision;
      assert.deepEqual([decided.verdict, decided.rule], [verdict, rule], decided.message);
      assert.equal(told.decision.verdict, verdict);
      if (verdict === 'deny') assert.equal(decided.reason, reason ?? 'policy.denied');
      if (verdict === 'ask') assert.equal(decided.reason, 'approval.pending');
      if (line) assert.equal(decided.line, line);
      if (verdict !== 'allow') assert.match(decided.message, /^Cannot /);
    });
  }
}

export const read = (path: string, tree?: true): Effect => ({
  kind: 'fs.read',
  path,
  ...(tree ? { tree } : {}),
});
export const write = (path: string, tree?: true): Effect => ({
  kind: 'fs.write',
  path,
  ...(tree ? { tree } : {}),
});
export const exec = (command: string): Effect => ({ kind: 'exec', command });
export const connect = (host: string, port = 443, scheme = 'https'): Effect => ({
  kind: 'net.connect',
  scheme,
  host,
  port,
});
export const git = (operation: string): Effect => ({ kind: 'git', operation });

export const SECRETS =
  'paths:\n  rules:\n    - {path: secrets, read: deny, write: deny}\n    - {path: "**/*.pem", write: deny}\n    - {path: "docs/**", write: ask}\n    - {path: docs, read: allow}';
