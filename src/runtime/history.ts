// Owns: what earlier calls changed, read back from the audit.
// Refuses: guesses; a call that recorded no change has none.
import type { HistoryHandle } from '../contract/capability.ts';
import type { AuditStore } from '../contract/store.ts';

export function createHistory(audit: AuditStore): HistoryHandle {
  return {
    async changes(callId) {
      const rows = await audit.rows({ callId });
      const intent = rows.find((row) => row.phase === 'intent');
      if (!intent) return undefined;
      const outcome = rows.find((row) => row.phase === 'outcome');
      return {
        callId,
        tool: intent.tool,
        changes: outcome?.outcome === 'ok' ? outcome.changes : intent.changes,
        finished: outcome?.outcome === 'ok',
        ...(intent.attribution ? { attribution: intent.attribution } : {}),
      };
    },
  };
}
