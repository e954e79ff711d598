// Owns: the audit rows of reads, which are written just after their answer, and those that could not be written yet.
// Refuses: to let anything be answered before its row while an earlier row is owed.
import type { AuditEntry, AuditStore, Usage } from '../contract/store.ts';

export interface LateRows {
  /** Nothing is owed, and few rows are on their way: a read may be answered first. */
  readonly mayAnswerFirst: boolean;
  /** Some row could not be written. */
  readonly owes: boolean;
  /** `onWritten` learns what the session has used by then. */
  write(entry: AuditEntry, onWritten: (usage: Usage) => void): void;
  /** Writes what is owed, or rejects with what keeps it from being written. */
  catchUp(): Promise<void>;
}

/** A caller that never lets the event loop turn must wait for it now and then, or no row would ever be written. */
const MOST_ON_THEIR_WAY = 64;

export function createLateRows(audit: Pick<AuditStore, 'append' | 'appendSoon'>): LateRows {
  let owed: AuditEntry[] = [];
  let onTheirWay = 0;
  return {
    get mayAnswerFirst() {
      return owed.length === 0 && onTheirWay < MOST_ON_THEIR_WAY;
    },
    get owes() {
      return owed.length > 0;
    },
    write(entry, onWritten) {
      onTheirWay++;
      audit.appendSoon(entry).then(
        ({ usage }) => {
          onTheirWay--;
          onWritten(usage);
        },
        () => {
          onTheirWay--;
          owed.push(entry);
        },
      );
    },
    async catchUp() {
      const due = owed;
      owed = [];
      const ends = await Promise.allSettled(due.map((entry) => audit.append(entry, false)));
      owed.push(...due.filter((_, i) => ends[i]!.status === 'rejected'));
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
    },
  };
}
