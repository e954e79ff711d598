// Owns: what goes with each row to the end of the chain: open intents, the usage of its session, and word of how far the audit has come.
// Refuses: to trust what it knew before the transaction began: another process may have appended since.
import type { AppendReceipt, AuditEntry, AuditHead, AuditProgress, Usage } from '../../contract/store.ts';
import { AUDIT_COLUMNS, GENESIS, HASH, hashRow, PREV, SEQ, type StoredRow } from '../audit-row.ts';
import { isAlive } from '../process-identity.ts';
import type { AuditSegments } from './audit-segments.ts';
import type { Connection } from './connection.ts';
import type { GroupPart } from './group-commit.ts';

export interface AuditWriter extends GroupPart {
  append(entry: AuditEntry, row: StoredRow): AppendReceipt;
  /** Where the chain ended before the rows of this transaction; undefined where it has none. */
  takeSince(): AuditHead | undefined;
}

export const HEAD = 'SELECT seq AS count, hash FROM audit ORDER BY seq DESC LIMIT 1';
const INSERT = `INSERT INTO audit VALUES (${Object.keys(AUDIT_COLUMNS)
  .map(() => '?')
  .join(', ')})`;
const REMEMBER = 'INSERT INTO changing_calls (seq, call_id) VALUES (?, ?)';
const OPEN = 'INSERT OR IGNORE INTO open_intents (call_id, seq) VALUES (?, ?)';
const CLOSE = 'DELETE FROM open_intents WHERE call_id = ?';
const ANY_OPEN = 'SELECT 1 FROM open_intents LIMIT 1';

export function createAuditWriter(connection: Connection, ledger: UsageLedger): AuditWriter {
  let seq = 0;
  let hash: string | undefined;
  let anyOpen: boolean | undefined;
  let since: AuditHead | undefined;

  const open = (callId: string): void => {
    connection.sql(OPEN).run(callId, seq);
    connection.sql(REMEMBER).run(seq, callId);
    anyOpen = true;
  };

  /** Most calls change nothing and left no intent; they cost one look at an empty table for the whole group. */
  const close = (entry: AuditEntry): void => {
    anyOpen ??= connection.sql(ANY_OPEN).get() !== undefined;
    const closed = anyOpen && connection.sql(CLOSE).run(entry.callId).changes !== 0;
    if (closed || entry.outcome === 'lost') connection.sql(REMEMBER).run(seq, entry.callId);
  };

  return {
    begin() {
      since = undefined;
      hash = undefined;
      anyOpen = undefined;
    },
    append(entry, row) {
      if (hash === undefined) {
        const head = connection.sql(HEAD).get() as { count: number; hash: string } | undefined;
        seq = head?.count ?? 0;
        hash = head?.hash ?? GENESIS;
        since = { count: seq, hash };
      }
      row[SEQ] = ++seq;
      row[PREV] = hash;
      hash = hashRow(row);
      row[HASH] = hash;
      connection.sql(INSERT).run(...row);
      if (entry.phase === 'intent') open(entry.callId);
      else close(entry);
      return { seq, usage: ledger.count(entry) };
    },
    takeSince: () => since,
  };
}

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

interface HeadWatch extends GroupPart {
  /** Tells a last time; nothing where this process appended nothing since. */
  close(): void;
}

const EVERY_MS = 5000;
const HASH_OF = 'SELECT hash FROM audit WHERE seq = ?';

export function createHeadWatch(
  connection: Connection,
  writer: Pick<AuditWriter, 'takeSince'>,
  tell: (progress: AuditProgress) => void,
  segments: Pick<AuditSegments, 'hashOf'>,
): HeadWatch {
  let since: AuditHead | undefined;
  let timer: NodeJS.Timeout | undefined;
  const hashOf = (seq: number) =>
    (connection.sql(HASH_OF).get(seq) as { hash: string } | undefined)?.hash ?? segments.hashOf(seq);

  const tellNow = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (since === undefined) return;
    try {
      const head = connection.sql(HEAD).get() as unknown as AuditHead | undefined;
      const chain = hashOf(1);
      if (!head || chain === undefined) return;
      tell({ chain, since, head: { count: head.count, hash: head.hash }, hashOf });
      since = undefined;
    } catch {
      // Told the next time.
    }
  };

  return {
    begin() {},
    end() {
      const before = writer.takeSince();
      if (before === undefined) return;
      since ??= before;
      timer ??= setTimeout(tellNow, EVERY_MS).unref();
    },
    close: tellNow,
  };
}
