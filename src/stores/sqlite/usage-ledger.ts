// Owns: how much each session has used, counted in memory within a transaction and written once at its end.
// Refuses: to remember anything between transactions; other processes count, too.
import type { AuditEntry, Usage } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { GroupPart } from './group-commit.ts';

export interface UsageLedger extends GroupPart {
  /** The session's usage with this entry counted. Only outcomes count, and of a lost call nobody knows how long it took. */
  count(entry: AuditEntry): Usage;
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

export function createUsageLedger(connection: Connection): UsageLedger {
  const lines = new Map<string, Line>();

  const lineOf = (entry: AuditEntry): Line => {
    const known = lines.get(entry.session);
    if (known) return known;
    const stored = connection.sql(READ).get(entry.session) as Usage | undefined;
    const line = { usage: stored ? { ...stored } : NONE, createdTs: entry.startTs, changed: false };
    lines.set(entry.session, line);
    return line;
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
      }
      return line.usage;
    },
    end() {
      for (const [session, { usage, createdTs, changed }] of lines) {
        if (changed) connection.sql(WRITE).run(session, createdTs, usage.calls, usage.wallMs, usage.bytes);
      }
    },
  };
}
