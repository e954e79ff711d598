// Owns: the audit of the SQLite store: append, head, query, verify, and closing what the dead left open.
// Refuses: to change or remove a row, ever; archive-audit.ts moves old ones, and they are still read here.
import type { AuditEntry, AuditHead, AuditRow, AuditStore } from '../../contract/store.ts';
import { decodeRow, encodeEntry, GENESIS, HASH, rowBody } from '../audit-row.ts';
import { isAlive } from '../process-identity.ts';
import { type AuditSegments, breathe, fetchRows, selectRows, windows } from './audit-segments.ts';
import { type AuditWriter, HEAD } from './audit-writer.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

interface AuditParts {
  readonly connection: Connection;
  readonly group: GroupCommit;
  readonly writer: AuditWriter;
  readonly segments: AuditSegments;
  /** The process that reports the calls of dead ones. */
  readonly process: string;
}

const HASHES = 'SELECT hash FROM audit WHERE seq BETWEEN ? AND ? ORDER BY seq';
const OPEN_INTENTS = 'JOIN open_intents USING (seq) ORDER BY seq';

export function createAudit({ connection, group, writer, segments, process }: AuditParts): AuditStore {
  const site = { connection, segments };
  const abandoned = (): readonly AuditRow[] =>
    fetchRows(selectRows(connection, OPEN_INTENTS))
      .map(decodeRow)
      .filter((row) => !isAlive(row.process));

  return {
    append(entry, durable, alone) {
      // Encoded at once, so that the transaction is short; not `async`, which would cost another promise a row.
      try {
        const row = encodeEntry(entry);
        return group.enqueue(() => writer.append(entry, row), durable, undefined, alone);
      } catch (thrown) {
        return Promise.reject(thrown);
      }
    },
    appendSoon(entry) {
      try {
        const row = encodeEntry(entry);
        return group.enqueueSoon(() => writer.append(entry, row));
      } catch (thrown) {
        return Promise.reject(thrown);
      }
    },
    async head() {
      await group.settled();
      return connection.read(() => {
        const head = connection.sql(HEAD).get() as AuditHead | undefined;
        return head ? { count: head.count, hash: head.hash } : { count: 0, hash: GENESIS };
      });
    },
    async rows(query) {
      await group.settled();
      const { queryAudit } = await import('./query-audit.ts');
      return queryAudit(site, query);
    },
    async *hashes(count) {
      const { readRange } = await import('./query-audit.ts');
      for (const [from, to] of windows(1, count)) {
        const rows = await connection.read(() => connection.sql(HASHES).all(from, to));
        const end = (await connection.read(segments.end))?.last ?? 0;
        if (end < from) yield rows.map(({ hash }) => hash as string);
        else yield (await readRange(site, { from, to })).map((row) => row[HASH] as string);
        await breathe();
      }
    },
    async body(seq) {
      const { readRange } = await import('./query-audit.ts');
      const [row] = await readRange(site, { from: seq, to: seq });
      return row && rowBody(row);
    },
    async verify(kept) {
      await group.settled();
      const { verifyAudit } = await import('./verify-audit.ts');
      return verifyAudit(connection, segments, kept);
    },
    async takeAbandoned(now) {
      const found = await connection.read(abandoned);
      if (found.length === 0) return found;
      return group.enqueue(() => {
        // Looked up again: another process may have taken them since.
        const taken = abandoned();
        for (const intent of taken) {
          const entry = lostOutcome(intent, now, process);
          writer.append(entry, encodeEntry(entry));
        }
        return taken;
      }, true);
    },
  };
}

function lostOutcome(
  { seq: _seq, prev: _prev, hash: _hash, ...intent }: AuditRow,
  now: number,
  process: string,
): AuditEntry {
  return {
    ...intent,
    phase: 'outcome',
    endTs: now,
    outcome: 'lost',
    errors: [{ code: 'E_INTERNAL', reason: 'call.outcome_unknown' }],
    process,
  };
}
