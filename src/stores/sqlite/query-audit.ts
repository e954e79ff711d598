// Owns: finding rows of the audit.
// Refuses: indices for what people rarely ask; such a question walks the table, window by window.
import type { AuditQuery, AuditRow } from '../../contract/store.ts';
import { decodeRow, type StoredRow } from '../audit-row.ts';
import { breathe, fetchRows, selectRows, windows } from './audit-pages.ts';
import { HEAD } from './audit-writer.ts';
import type { Connection } from './connection.ts';

/** What a query may name, and the column that holds it. */
const FILTERS = {
  tool: 'tool',
  session: 'session',
  callId: 'call_id',
  runId: 'run_id',
  outcome: 'outcome',
} as const;

export async function queryAudit(connection: Connection, query: AuditQuery): Promise<readonly AuditRow[]> {
  const backwards = query.last !== undefined;
  const wanted = Math.min(query.last ?? ANY, query.limit ?? ANY);
  const filters = Object.entries(FILTERS).flatMap(([key, column]) => {
    const value = query[key as keyof typeof FILTERS];
    return value === undefined ? [] : [{ condition: `AND ${column} = ?`, value }];
  });
  const rest = `WHERE seq BETWEEN ? AND ? ${filters.map((filter) => filter.condition).join(' ')}
    ORDER BY seq ${backwards ? 'DESC' : 'ASC'} LIMIT ?`;
  const values = filters.map((filter) => filter.value);

  const found: StoredRow[] = [];
  for (const [from, to] of await rangesOf(connection, query, backwards)) {
    if (found.length >= wanted) break;
    const room = wanted - found.length;
    const rows = await connection.read(() =>
      fetchRows(selectRows(connection, rest), from, to, ...values, room),
    );
    for (const row of rows) found.push(row);
    await breathe();
  }
  if (backwards) found.reverse();
  return found.map(decodeRow);
}

const ANY = Number.MAX_SAFE_INTEGER;

/** Where to look: all of the table after `afterSeq`, or, for a call that meant to change something, its very rows. */
async function rangesOf(connection: Connection, query: AuditQuery, backwards: boolean) {
  const first = (query.afterSeq ?? 0) + 1;
  if (query.callId !== undefined) {
    const callId = query.callId;
    const rows = await connection.read(() => connection.sql(PLACES).all(callId, first));
    const places = rows.map((row) => [row.seq as number, row.seq as number] as const);
    if (places.length > 0) return backwards ? places.reverse() : places;
  }
  const head = await connection.read(() => connection.sql(HEAD).get());
  return windows(first, (head?.count as number | undefined) ?? 0, backwards);
}

const PLACES = 'SELECT seq FROM changing_calls WHERE call_id = ? AND seq >= ? ORDER BY seq';
