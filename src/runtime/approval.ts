// Owns: what happens to a call that policy wants a person to answer for.
// Refuses: an approval for anything but the exact call, and using one twice.
import type { ToolContext } from '../contract/capability.ts';
import type { Effect } from '../contract/effect.ts';
import { fail } from '../contract/errors.ts';
import type { JsonObject, MaybePromise } from '../contract/json.ts';
import { type Decision, POLICY_DEFAULTS, type PolicyEngine } from '../contract/policy.ts';
import type { RuntimeApprovals, RuntimeParts } from '../contract/runtime.ts';
import type { Approval, ApprovalAnswer, ApprovalKey } from '../contract/store.ts';
import type { AnyTool } from '../contract/tool.ts';
import type { Described, Judgeable } from './approval-details.ts';
import { recordAct } from './management.ts';
import type { CallRecord } from './record.ts';

const STATUSES: readonly Approval['status'][] = ['pending', 'granted', 'refused', 'consumed', 'expired'];

interface AskedCall {
  readonly record: CallRecord;
  readonly tool: AnyTool;
  readonly args: JsonObject;
  readonly engine: PolicyEngine;
  readonly decision: Decision;
  /** What a dry run of the call would touch, and a context for it that changes nothing of the call's record. */
  effectsOf(dry: JsonObject): MaybePromise<readonly Effect[]>;
  contextOf(dry: JsonObject, effects: readonly Effect[]): ToolContext;
  /** The work, or the failure that ended it. */
  inTime(work: Promise<unknown>): Promise<unknown>;
}

/** What a person is asked about the call. */
export async function questionOf(call: AskedCall): Promise<Question> {
  const { record, tool, args, engine, decision } = call;
  const { describeForApproval } = await import('./approval-details.ts');
  const describing = describeForApproval({
    tool,
    args,
    argsHash: record.args.hash,
    effects: record.effects,
    admit: decision.admit,
    async context(dry) {
      const wanted = await call.effectsOf(dry);
      const hidden = engine.decide(tool.id, wanted).decision.verdict === 'deny';
      return { ctx: call.contextOf(dry, hidden ? record.effects : wanted), hidden };
    },
  });
  const { paramsHash, describe } = (await call.inTime(describing)) as Judgeable;
  return {
    key: { tool: record.tool, contract: record.contract, policyHash: engine.hash, paramsHash },
    session: record.session,
    decision,
    expireMs: engine.loaded.file.approvals?.expire_ms,
    describe,
  };
}

export interface Question {
  readonly key: ApprovalKey;
  readonly session: string;
  readonly decision: Decision;
  readonly expireMs: number | undefined;
  /** For the person. */
  describe(): Promise<Described>;
}

type Parts = Pick<RuntimeParts, 'store' | 'clock' | 'newId' | 'events' | 'process'>;

/** Returns the granted approval that was used up; else throws `approval.pending` or `approval.refused`. */
export async function requireApproval(parts: Parts, question: Question): Promise<ApprovalAnswer> {
  const { key, session, decision, expireMs = POLICY_DEFAULTS.approvals.expire_ms } = question;
  const { store, clock, newId, events } = parts;
  const now = clock.now();
  const answer = await store.approvals.consume(key, now);
  if (answer?.status === 'granted') return answer;
  if (answer) throw refused(key);
  const approval = await store.approvals.request({
    ...key,
    id: newId('appr'),
    session,
    createdTs: now,
    expiresTs: now + expireMs,
    rule: decision.rule,
    ...(await question.describe()),
  });
  events.emit({
    type: 'EventMessage',
    event: 'ApprovalPending',
    session_id: session,
    data: { approval_id: approval.id, tool: key.tool },
  });
  throw fail(
    'approval.pending',
    `Cannot call "${key.tool}" yet: it waits for approval (haft approvals grant ${approval.id}), then make the same call again`,
    {
      approval_id: approval.id,
      expires_ts: approval.expiresTs,
      rule: decision.rule,
      ...(decision.admit ? { admit: decision.admit } : {}),
    },
  );
}

/** The same without using anything up or asking anybody: the open approval of that call. Throws `approval.refused`. */
export async function lookForApproval(
  { store, clock }: Pick<Parts, 'store' | 'clock'>,
  { key }: Question,
): Promise<Approval | undefined> {
  const now = clock.now();
  const found = (await store.approvals.list({}, now)).findLast(
    (one) => OPEN.includes(one.status) && one.expiresTs > now && KEY.every((part) => one[part] === key[part]),
  );
  if (found?.status === 'refused') throw refused(key);
  return found;
}

const OPEN: readonly Approval['status'][] = ['pending', 'granted', 'refused'];
const KEY = ['tool', 'contract', 'policyHash', 'paramsHash'] as const;

const refused = ({ tool }: ApprovalKey) =>
  fail('approval.refused', `Cannot call "${tool}": a person refused it`);

/**
 * Of a call that failed: the approval holds for the next one where it is certain that nothing was done. That is so before the
 * tool began, and of a builtin that touches files only, until it said what it is about to change. What programs and
 * servers did before they failed nobody knows. An approval that cannot be given back stays used up.
 */
export async function giveBackUnused(
  { store }: Pick<Parts, 'store'>,
  { approval, effects, intended }: Pick<CallRecord, 'approval' | 'effects' | 'intended'>,
  begun: { readonly origin: string } | 'ended' | undefined,
): Promise<void> {
  if (!approval || begun === 'ended') return;
  const onlyFiles = effects.every(({ kind }) => kind === 'fs.read' || kind === 'fs.write');
  if (begun && (begun.origin !== 'builtin' || !onlyFiles || intended)) return;
  await store.approvals.giveBack(approval.id).catch(() => {});
}

export function createApprovals({ store, clock, events, process }: Parts): RuntimeApprovals {
  return {
    async list(status) {
      if (status !== undefined && !STATUSES.includes(status))
        throw fail('usage', `Cannot list approvals: status is one of ${STATUSES.join(', ')}`);
      return store.approvals.list(status ? { status } : {}, clock.now());
    },
    async show(id) {
      const approval = await store.approvals.get(id);
      if (approval) return approval;
      throw fail('approval.unknown', `Cannot show "${id.slice(0, 80)}": no approval has this id`);
    },
    async decide(id, decision, by) {
      if (decision !== 'granted' && decision !== 'refused')
        throw fail('usage', 'Cannot answer the approval: the decision is "granted" or "refused"');
      if (typeof by !== 'string' || by === '')
        throw fail('usage', 'Cannot answer the approval: it does not say who answers');
      const approval = await store.approvals.decide(id, decision, by, clock.now());
      if (!approval)
        throw fail('approval.unknown', `Cannot answer "${id.slice(0, 80)}": no open approval has this id`);
      const { tool, session, paramsHash } = approval;
      const action = decision === 'granted' ? 'haft approvals grant' : 'haft approvals refuse';
      const facts = { approval: id, tool, session, params_hash: paramsHash };
      await recordAct(store.audit, { action, by, facts }, { process, now: clock.now });
      events.emit({
        type: 'EventMessage',
        event: 'ApprovalDecided',
        session_id: approval.session,
        data: { approval_id: id, decision },
      });
      return approval;
    },
  };
}
