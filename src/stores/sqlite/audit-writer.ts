// Owns: putting a row at the end of the chain, inside a transaction, and the list of intents that wait for their outcome.
// Refuses: to trust what it knew before the transaction began; another process may have appended since.
import type { AppendReceipt, AuditEntry, AuditHead } from '../../contract/store.ts';
import { AUDIT_COLUMNS, GENESIS, HASH, hashRow, PREV, SEQ, type StoredRow } from '../audit-row.ts';
import type { Connection } from './connection.ts';
import type { GroupPart } from './group-commit.ts';
import type { UsageLedger } from './usage-ledger.ts';

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
