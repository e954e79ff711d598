// Owns: sessions in the SQLite store: what they were opened with, and what they have used.
// Refuses: to open a session of a name that is taken; its registry would silently not hold.
import { canonicalText } from '../../base/canonical-json.ts';
import { fail } from '../../contract/errors.ts';
import type { SessionRecord, SessionStore } from '../../contract/store.ts';
import type { UsageLedger } from './audit-writer.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

const COLUMNS = 'id, created_ts, expires_ts, attribution, registry, budget, calls, wall_ms, bytes';

/** A row that only counts usage is taken over; one that was opened stays as it is. */
const CREATE = `INSERT INTO sessions (id, opened, created_ts, expires_ts, attribution, registry, budget)
  VALUES (?, 1, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET opened = 1, created_ts = excluded.created_ts, expires_ts = excluded.expires_ts,
    attribution = excluded.attribution, registry = excluded.registry, budget = excluded.budget
  WHERE opened = 0`;

export function createSessions(
  connection: Connection,
  group: GroupCommit,
  ledger: Pick<UsageLedger, 'reserve'>,
): SessionStore {
  return {
    create(session) {
      const { id, createdTs, expiresTs } = session;
      const [attribution, registry, budget] = [session.attribution, session.registry, session.budget].map(
        (value) => (value === null ? null : canonicalText(value)),
      ) as [string | null, string | null, string | null];
      return group.enqueue(() => {
        const { changes } = connection
          .sql(CREATE)
          .run(id, createdTs, expiresTs, attribution, registry, budget);
        if (changes === 0)
          throw fail('usage', `Cannot open session "${id.slice(0, 80)}": there is one already`);
      }, true);
    },
    async get(id) {
      await group.settled();
      const row = await connection.read(() =>
        connection.sql(`SELECT ${COLUMNS} FROM sessions WHERE id = ?`).get(id),
      );
      return row && toRecord(row as unknown as SessionColumns);
    },
    async list() {
      await group.settled();
      const rows = await connection.read(() =>
        connection.sql(`SELECT ${COLUMNS} FROM sessions ORDER BY created_ts, id`).all(),
      );
      return rows.map((row) => toRecord(row as unknown as SessionColumns));
    },
    reserve: (id, callId, most) => group.enqueue(() => ledger.reserve(id, callId, most)),
    end(id, now) {
      return group.enqueue(() => {
        const { changes } = connection.sql('UPDATE sessions SET expires_ts = ? WHERE id = ?').run(now, id);
        if (changes === 0)
          throw fail('session.unknown', `Cannot end session "${id.slice(0, 80)}": there is none of that id`);
      }, true);
    },
  };
}

interface SessionColumns {
  readonly id: string;
  readonly created_ts: number;
  readonly expires_ts: number | null;
  readonly attribution: string | null;
  readonly registry: string | null;
  readonly budget: string | null;
  readonly calls: number;
  readonly wall_ms: number;
  readonly bytes: number;
}

function toRecord(row: SessionColumns): SessionRecord {
  return {
    id: row.id,
    createdTs: row.created_ts,
    expiresTs: row.expires_ts,
    attribution: parse(row.attribution),
    registry: parse(row.registry),
    budget: parse(row.budget),
    usage: { calls: row.calls, wallMs: row.wall_ms, bytes: row.bytes },
  };
}

function parse<T>(text: string | null): T | null {
  return text === null ? null : JSON.parse(text);
}
