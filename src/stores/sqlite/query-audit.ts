// Owns: finding rows of the audit.
// Refuses: indices for what people rarely ask; such a question walks the table, window by window.
import type { AuditQuery, AuditRow } from '../../contract/store.ts';
import { AUDIT_COLUMNS, decodeRow, SEQ, type StoredRow } from '../audit-row.ts';
import { type AuditSegments, breathe, fetchRows, selectRows, windows } from './audit-segments.ts';
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

export async function queryAudit(site: QuerySite, query: AuditQuery): Promise<readonly AuditRow[]> {
  const backwards = query.last !== undefined;
  const wanted = Math.min(query.last ?? ANY, query.limit ?? ANY);
  const asked = Object.entries(FILTERS).flatMap(([key, column]) => {
    const value = query[key as keyof typeof FILTERS];
    return value === undefined ? [] : [{ column, value }];
  });

  const found: StoredRow[] = [];
  for (const [from, to] of await rangesOf(site, query, backwards)) {
    if (found.length >= wanted) break;
    const rows = await readRange(site, { from, to, asked, backwards, room: wanted - found.length });
    for (const row of rows) found.push(row);
    await breathe();
  }
  if (backwards) found.reverse();
  return found.map(decodeRow);
}

interface QuerySite {
  readonly connection: Connection;
  readonly segments: AuditSegments;
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly asked?: readonly { readonly column: string; readonly value: string }[];
  readonly backwards?: boolean;
  readonly room?: number;
}

/** Rows of the table and of segments alike. */
export async function readRange({ connection, segments }: QuerySite, range: Range): Promise<StoredRow[]> {
  const { from, to, asked = [], backwards = false, room = ANY } = range;
  const rest = `WHERE seq BETWEEN ? AND ? ${asked.map(({ column }) => `AND ${column} = ?`).join(' ')}
    ORDER BY seq ${backwards ? 'DESC' : 'ASC'} LIMIT ?`;
  const values = asked.map(({ value }) => value);
  const rows = await connection.read(() =>
    fetchRows(selectRows(connection, rest), from, to, ...values, room),
  );
  // Asked after the rows: what is no longer in the table by then was in a segment before it left.
  const end = (await connection.read(segments.end))?.last ?? 0;
  if (end < from) return rows;
  const columns = asked.map(({ column, value }) => ({ at: COLUMN_NAMES.indexOf(column), value }));
  const archived = (await segments.rows(from, Math.min(to, end), values)).filter((row) =>
    columns.every(({ at, value }) => row[at] === value),
  );
  const later = rows.filter((row) => (row[SEQ] as number) > end);
  const all = backwards ? [...later, ...archived.toReversed()] : [...archived, ...later];
  return all.slice(0, room);
}

const COLUMN_NAMES = Object.keys(AUDIT_COLUMNS);
const ANY = Number.MAX_SAFE_INTEGER;

/** Where to look: all after `afterSeq`, or, for a call that meant to change something, its very rows. */
async function rangesOf(site: QuerySite, query: AuditQuery, backwards: boolean) {
  const { connection } = site;
  const first = (query.afterSeq ?? 0) + 1;
  if (query.callId !== undefined) {
    const places = await placesOf(site, query.callId);
    if (places) {
      const ranges = places.filter((seq) => seq >= first).map((seq) => [seq, seq] as const);
      return backwards ? ranges.reverse() : ranges;
    }
  }
  const head = await connection.read(() => connection.sql(HEAD).get());
  return windows(first, (head?.count as number | undefined) ?? 0, backwards);
}

/** Undefined where they are not all known: those of old calls are forgotten, the outcome's after the intent's. */
async function placesOf(site: QuerySite, callId: string): Promise<readonly number[] | undefined> {
  const { connection } = site;
  const rows = await connection.read(() => connection.sql(PLACES).all(callId));
  const places = rows.map(({ seq }) => seq as number);
  if (places.length === 0) return undefined;
  const [first] = await readRange(site, { from: places[0]!, to: places[0]! });
  return first?.[PHASE] === 'intent' ? places : undefined;
}

const PHASE = COLUMN_NAMES.indexOf('phase');
const PLACES = 'SELECT seq FROM changing_calls WHERE call_id = ? ORDER BY seq';
