// Owns: approvals in the SQLite store: asked once for a call, answered once, used once.
// Refuses: to let an approval outlive its time, whatever its row still says.
import { canonicalText } from '../../base/canonical-json.ts';
import type { Approval, ApprovalKey, ApprovalStore } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

/** Asked or answered, and not used up or out of time. */
const OPEN_OF_KEY = `WHERE params_hash = ? AND tool = ? AND contract = ? AND policy_hash = ? AND home = ?
  AND status IN ('pending', 'granted', 'refused') AND expires_ts > ? ORDER BY created_ts DESC, id LIMIT 1`;

const INSERT = `INSERT INTO approvals (id, tool, contract, policy_hash, params_hash, session, home, status, created_ts,
  expires_ts, rule, effects, admit, details) VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?)`;
const FORGET = 'UPDATE approvals SET details = NULL WHERE details IS NOT NULL AND expires_ts <= ?';
const CONSUME = "UPDATE approvals SET status = 'consumed' WHERE id = ?";
const GIVE_BACK = "UPDATE approvals SET status = 'granted' WHERE id = ? AND home = ? AND status = 'consumed'";
const DECIDE = `UPDATE approvals SET status = ?, decided_by = ?, decided_ts = ?
  WHERE id = ? AND home = ? AND status = 'pending' AND expires_ts > ? RETURNING *`;
const BY_ID = 'SELECT * FROM approvals WHERE id = ? AND home = ?';
const LIST = 'SELECT * FROM approvals WHERE home = ? ORDER BY created_ts, id';

export function createApprovals(
  connection: Connection,
  group: GroupCommit,
  clock: { now(): number },
  /** Tells this database file from every copy of it. */
  home: string,
): ApprovalStore {
  const openOf = (key: ApprovalKey, now: number): ApprovalColumns | undefined =>
    connection
      .sql(`SELECT * FROM approvals ${OPEN_OF_KEY}`)
      .get(key.paramsHash, key.tool, key.contract, key.policyHash, home, now) as unknown as
      | ApprovalColumns
      | undefined;

  return {
    request(asked) {
      const { id, tool, contract, policyHash, paramsHash, session, createdTs, expiresTs, rule, admit } =
        asked;
      const effects = canonicalText(asked.effects);
      const details = asked.details && JSON.stringify(asked.details);
      return group.enqueue(() => {
        const open = openOf(asked, createdTs);
        if (open) return toApproval(open, createdTs);
        connection.sql(FORGET).run(createdTs);
        connection
          .sql(INSERT)
          .run(
            id,
            tool,
            contract,
            policyHash,
            paramsHash,
            session,
            home,
            createdTs,
            expiresTs,
            rule,
            effects,
            admit,
            details,
          );
        return { ...asked, status: 'pending', decidedTs: null, decidedBy: null };
      });
    },
    // Not durable by itself: the log is sequential, so the intent of the call that this admits carries it to the disk.
    consume: (key, now) =>
      group.enqueue(() => {
        const open = openOf(key, now);
        if (open?.status === 'granted') connection.sql(CONSUME).run(open.id);
        if (open?.status !== 'granted' && open?.status !== 'refused') return undefined;
        return { status: open.status, id: open.id, decidedBy: open.decided_by ?? '' };
      }),
    giveBack: (id) =>
      group.enqueue(() => {
        connection.sql(GIVE_BACK).run(id, home);
      }),
    decide: (id, decision, by, now) =>
      group.enqueue(() => {
        const row = connection.sql(DECIDE).get(decision, by, now, id, home, now);
        return row && toApproval(row as unknown as ApprovalColumns, now);
      }, true),
    async get(id) {
      const row = await connection.read(() => connection.sql(BY_ID).get(id, home));
      return row && toApproval(row as unknown as ApprovalColumns, clock.now());
    },
    async list({ status }, now) {
      const rows = await connection.read(() => connection.sql(LIST).all(home));
      const all = rows.map((row) => toApproval(row as unknown as ApprovalColumns, now));
      return status === undefined ? all : all.filter((approval) => approval.status === status);
    },
  };
}

interface ApprovalColumns {
  readonly id: string;
  readonly tool: string;
  readonly contract: string;
  readonly policy_hash: string;
  readonly params_hash: string;
  readonly session: string;
  readonly status: Approval['status'];
  readonly created_ts: number;
  readonly expires_ts: number;
  readonly decided_ts: number | null;
  readonly decided_by: string | null;
  readonly rule: string;
  readonly effects: string;
  readonly admit: string | null;
  readonly details: string | null;
}

function toApproval(row: ApprovalColumns, now: number): Approval {
  const unused = row.status === 'pending' || row.status === 'granted';
  return {
    id: row.id,
    tool: row.tool,
    contract: row.contract,
    policyHash: row.policy_hash,
    paramsHash: row.params_hash,
    session: row.session,
    status: unused && row.expires_ts <= now ? 'expired' : row.status,
    createdTs: row.created_ts,
    expiresTs: row.expires_ts,
    decidedTs: row.decided_ts,
    decidedBy: row.decided_by,
    rule: row.rule,
    effects: JSON.parse(row.effects),
    admit: row.admit,
    details: row.details === null || row.expires_ts <= now ? null : JSON.parse(row.details),
  };
}
