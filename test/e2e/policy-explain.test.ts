// Owns: the proof that `policy explain` tells of every call what then becomes of it, for random policies and calls of every tool.
// Refuses: how calls fail for other reasons than policy; the tools' own tests have that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CallRequest } from '../../src/contract/envelope.ts';
import { type ErrorEntry, isFailure } from '../../src/contract/errors.ts';
import type { PolicyFile } from '../../src/contract/policy.ts';
import type { Explanation } from '../../src/contract/runtime.ts';
import type { AuditRow } from '../../src/contract/store.ts';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { BUILTIN_TOOLS } from '../../src/tools/index.ts';
import fc from '../support/properties.ts';
import { cases, TOOLS } from './support/explained-calls.ts';
import { inExplained, withSections } from './support/explained-workspace.ts';

const CASES = 1_000;

describe('policy explain', () => {
  it('has calls of every builtin tool, of a toolpack and of a pack', () => {
    assert.deepEqual(TOOLS, [...BUILTIN_TOOLS.map(({ id }) => id), 'keyed.get', 'word_count']);
  });

  it(`agrees with the call, for ${CASES} random policies and calls`, { timeout: 600_000 }, async () => {
    await inExplained(async (runtime, lay) => {
      const { loaded } = runtime.policy.current;
      const seen: Record<string, number> = {};
      await fc.assert(
        fc.asyncProperty(cases, async ({ tool, args, policy, calls, answer }) => {
          await runtime.policy.replace(withSections(loaded, policy as Partial<PolicyFile>));
          const session =
            calls === undefined ? undefined : await runtime.sessions.open({ budget: { calls } });
          const request = { tool, args, ...(session ? { sessionId: session.id } : {}) };
          lay();
          const first = await compare(runtime, request, seen);
          const approval = first?.details?.approval_id;
          if (answer === undefined || approval === undefined) return;
          await runtime.approvals.decide(String(approval), answer, 'a person');
          lay();
          await compare(runtime, request, seen);
        }),
        { numRuns: CASES },
      );
      for (const outcome of SEEN) assert.ok((seen[outcome] ?? 0) > 0, outcome);
    });
  });
});

/** What has to have come up. */
const SEEN = [
  ...['allow', 'ask', 'granted', 'policy.denied', 'path.outside_workspace', 'path.protected'],
  ...['shell.dynamic', 'shell.not_allowed', 'budget.exhausted', 'approval.refused'],
  ...['refused: credentials.missing', 'refused: input.too_large', 'refused: path.outside_workspace'],
  ...['slurm_submit: policy.denied', 'slurm_submit: budget.exhausted'],
];

/** What only doing it tells, where the explanation says that it was not looked at. */
const UNSEEN = /^(http|sandbox)\.|^policy\.denied$/;

async function compare(
  runtime: DefaultRuntime,
  request: CallRequest,
  seen: Record<string, number>,
): Promise<ErrorEntry | undefined> {
  const told = await runtime.policy.explain(request).catch((thrown: unknown) => {
    if (!isFailure(thrown)) throw thrown;
    return { refused: thrown.reason };
  });
  const { callId, errors } = await runtime.call(request);
  const row = (await runtime.audit.rows({ callId })).at(-1)!;
  const [error] = errors;
  const outcome = 'refused' in told ? compareRefused(told, row, error) : compareDecision(told, row, error);
  for (const name of [outcome, `${request.tool}: ${outcome}`]) seen[name] = (seen[name] ?? 0) + 1;
  return error;
}

/** It ends before policy is asked. */
function compareRefused(
  { refused }: { readonly refused: string },
  row: AuditRow,
  error: ErrorEntry | undefined,
): string {
  const isEarly = row.decision.rule === 'input' || error?.code !== 'E_POLICY';
  assert.deepEqual([refused, isEarly], [error?.reason, true]);
  return `refused: ${refused}`;
}

function compareDecision(told: Explanation, row: AuditRow, error: ErrorEntry | undefined): string {
  const { decision, approval, unseen } = told;
  assert.deepEqual(told.effects, row.effects);
  const isLate = unseen !== undefined && UNSEEN.test(error?.reason ?? '');
  if (error?.code !== 'E_POLICY' || isLate) {
    const isOpen = decision.verdict === 'allow' || approval?.status === 'granted';
    assert.ok(isOpen, `told ${decision.message}; it went on, to ${error?.message ?? 'its end'}`);
    assert.deepEqual({ verdict: decision.verdict, rule: decision.rule }, row.decision);
    return decision.verdict === 'allow' ? 'allow' : 'granted';
  }
  const { reason, message, details = {} } = error;
  const { rule = row.decision.verdict === 'deny' ? row.decision.rule : reason, admit } = details;
  const asks = reason === 'approval.pending';
  assert.deepEqual(
    [decision.verdict, decision.reason, decision.rule, decision.admit],
    [asks ? 'ask' : 'deny', reason, rule, admit],
    `told ${decision.verdict}: ${decision.message}; it ended with ${message}`,
  );
  if (!asks) assert.equal(decision.message, message);
  return asks ? 'ask' : reason;
}
