// Owns: what happens to a call that policy wants a person to answer for.
// Refuses: an approval for anything but the exact call, and using one twice.
import type { Effect } from '../contract/effect.ts';
import { fail } from '../contract/errors.ts';
import type { Decision } from '../contract/policy.ts';
import type { RuntimeApprovals, RuntimeParts } from '../contract/runtime.ts';
import type { ApprovalKey } from '../contract/store.ts';

const DEFAULT_EXPIRY_MS = 15 * 60_000;

export interface Question {
  readonly key: ApprovalKey;
  readonly session: string;
  readonly decision: Decision;
  readonly effects: readonly Effect[];
  readonly expireMs: number | undefined;
}

type Parts = Pick<RuntimeParts, 'store' | 'clock' | 'newId' | 'events'>;

/** Returns when a granted approval was used up; else throws `approval.pending` or `approval.refused`. */
export async function requireApproval(parts: Parts, question: Question): Promise<void> {
  const { key, session, decision, effects, expireMs = DEFAULT_EXPIRY_MS } = question;
  const { store, clock, newId, events } = parts;
  const now = clock.now();
  const answer = await store.approvals.consume(key, now);
  if (answer === 'granted') return;
  if (answer === 'refused') throw fail('approval.refused', `Cannot call "${key.tool}": a person refused it`);
  const approval = await store.approvals.request({
    ...key,
    id: newId('appr'),
    session,
    createdTs: now,
    expiresTs: now + expireMs,
    rule: decision.rule,
    effects,
    admit: decision.admit ?? null,
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

export function createApprovals({ store, clock, events }: Parts): RuntimeApprovals {
  return {
    list: (status) => store.approvals.list(status ? { status } : {}, clock.now()),
    async decide(id, decision, by) {
      const approval = await store.approvals.decide(id, decision, by, clock.now());
      if (!approval)
        throw fail('approval.unknown', `Cannot answer "${id.slice(0, 80)}": no open approval has this id`);
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
