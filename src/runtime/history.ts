// Owns: what earlier calls changed, read back from the audit and the object store.
// Refuses: guesses; a call that recorded no change has none, and bytes that were not kept are not there.
import type { CallHistory, CallScope, HistoryHandle } from '../contract/capability.ts';
import type { Store } from '../contract/store.ts';

/** What `effects` may ask. */
export type CallHistories = Pick<HistoryHandle, 'changes' | 'undoneBy'>;

export function createHistories({ audit, retention }: Pick<Store, 'audit' | 'retention'>): CallHistories {
  return {
    async changes(callId): Promise<CallHistory | undefined> {
      const rows = await audit.rows({ callId });
      const intent = rows.find((row) => row.phase === 'intent');
      if (!intent) return undefined;
      const finished = rows.some((row) => row.phase === 'outcome' && row.outcome === 'ok');
      const { tool, changes, attribution } = intent;
      const givenUp = intent.seq <= (await retention.givenUp()) ? { givenUp: true as const } : {};
      return { callId, tool, changes, finished, ...(attribution ? { attribution } : {}), ...givenUp };
    },
    async undoneBy(callId) {
      const [first] = await audit.rows({ callId });
      const undone = await audit.rows({
        tool: 'undo',
        outcome: 'ok',
        ...(first ? { afterSeq: first.seq } : {}),
      });
      // The last one that stands: an undo can be undone, by one that comes after it.
      const standing = (id: string): string | undefined =>
        undone.findLast((row) => row.facts?.undoes === id && standing(row.callId) === undefined)?.callId;
      return standing(callId);
    },
  };
}

/** The handle of one call: bytes of the past are guarded like those of the present. */
export function historyFor(
  histories: CallHistories,
  scope: Pick<CallScope, 'admit' | 'objects'>,
): HistoryHandle {
  return {
    ...histories,
    async content(callId, path, side) {
      scope.admit({ kind: 'fs.read', path });
      const change = (await histories.changes(callId))?.changes.find((one) => one.path === path);
      const state = change?.[side];
      if (state?.type !== 'file' || (await scope.objects.size(state.object)) === undefined) return undefined;
      return scope.objects.get(state.object);
    },
  };
}
