// Owns: how much each session has used, counted in memory within a transaction and written once at its end, and which calls
// under way were promised a place among those that a session may make.
// Refuses: to remember anything between transactions; other processes count, too.
import type { AuditEntry, Usage } from '../../contract/store.ts';
import { isAlive } from '../process-identity.ts';
import type { Connection } from './connection.ts';
import type { GroupPart } from './group-commit.ts';

export interface UsageLedger extends GroupPart {
  /** The session's usage with this entry counted. Only outcomes count, and of a lost call nobody knows how long it took. */
  count(entry: AuditEntry): Usage;
  /** Undefined when the call has one of the `most` places, until its outcome is counted; else how many are taken. */
  reserve(session: string, callId: string, most: number): number | undefined;
}

interface Line {
  usage: Usage;
  /** The start of the first call, for a session that has no row yet. */
  readonly createdTs: number;
  changed: boolean;
}

const NONE: Usage = Object.freeze({ calls: 0, wallMs: 0, bytes: 0 });

const READ = 'SELECT calls, wall_ms AS wallMs, bytes FROM sessions WHERE id = ?';
const WRITE = `INSERT INTO sessions (id, opened, created_ts, calls, wall_ms, bytes) VALUES (?, 0, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET calls = excluded.calls, wall_ms = excluded.wall_ms, bytes = excluded.bytes`;

const RESERVE = 'INSERT INTO reserved_calls (session, call_id, holder) VALUES (?, ?, ?)';
const RESERVED = 'SELECT count(*) AS calls FROM reserved_calls WHERE session = ?';
const HOLDERS = 'SELECT DISTINCT holder FROM reserved_calls WHERE session = ?';
const FREE = 'DELETE FROM reserved_calls WHERE session = ? AND call_id = ?';
const FREE_HOLDER = 'DELETE FROM reserved_calls WHERE holder = ?';

export function createUsageLedger(connection: Connection, self: string): UsageLedger {
  const lines = new Map<string, Line>();
  /** Ours: most calls have none, and cost no look at the table. */
  const reserved = new Set<string>();

  const usageOf = (session: string): Usage | undefined =>
    lines.get(session)?.usage ?? (connection.sql(READ).get(session) as Usage | undefined);

  const lineOf = (entry: AuditEntry): Line => {
    const known = lines.get(entry.session);
    if (known) return known;
    const stored = usageOf(entry.session);
    const line = { usage: stored ? { ...stored } : NONE, createdTs: entry.startTs, changed: false };
    lines.set(entry.session, line);
    return line;
  };

  const takenOf = (session: string): number =>
    (usageOf(session)?.calls ?? 0) + (connection.sql(RESERVED).get(session)?.calls as number);

  /** What died on its way is counted when it is found to be lost, if it changed anything. */
  const freeDead = (session: string): void => {
    for (const { holder } of connection.sql(HOLDERS).all(session) as { holder: string }[])
      if (!isAlive(holder)) connection.sql(FREE_HOLDER).run(holder);
  };

  return {
    begin: () => lines.clear(),
    count(entry) {
      const line = lineOf(entry);
      if (entry.phase === 'outcome') {
        const { calls, wallMs, bytes } = line.usage;
        const took =
          entry.outcome === 'lost' ? 0 : Math.max(0, (entry.endTs ?? entry.startTs) - entry.startTs);
        line.usage = { calls: calls + 1, wallMs: wallMs + took, bytes: bytes + entry.bytes };
        line.changed = true;
        // In one transaction with the count: nobody sees the call twice, or not at all.
        if (reserved.delete(entry.callId)) connection.sql(FREE).run(entry.session, entry.callId);
      }
      return line.usage;
    },
    reserve(session, callId, most) {
      if (takenOf(session) >= most) freeDead(session);
      const taken = takenOf(session);
      if (taken >= most) return taken;
      connection.sql(RESERVE).run(session, callId, self);
      reserved.add(callId);
      return undefined;
    },
    end() {
      for (const [session, { usage, createdTs, changed }] of lines) {
        if (changed) connection.sql(WRITE).run(session, createdTs, usage.calls, usage.wallMs, usage.bytes);
      }
    },
  };
}
