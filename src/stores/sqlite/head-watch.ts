// Owns: telling how far the audit has come: a while after rows were appended, and at the end.
// Refuses: to hold up a call, or to fail one: who keeps the head is a witness, not a part of the work.
import type { AuditHead, AuditProgress } from '../../contract/store.ts';
import type { AuditSegments } from './audit-segments.ts';
import { type AuditWriter, HEAD } from './audit-writer.ts';
import type { Connection } from './connection.ts';
import type { GroupPart } from './group-commit.ts';

export interface HeadWatch extends GroupPart {
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
