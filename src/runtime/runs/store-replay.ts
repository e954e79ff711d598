// Owns: earlier results of deterministic runs, found in the store and trusted only once every output verifies.
// Refuses: half a result: one output that is gone or changed makes it a miss.
import type { Json } from '../../contract/json.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { ReplaySource } from '../../contract/replay.ts';
import type { RunStore } from '../../contract/run-store.ts';
import type { Clock } from '../../contract/runtime.ts';

export interface StoreReplayParts {
  readonly runs: Pick<RunStore, 'get' | 'keep'>;
  /** Re-hashes an output, with everything that belongs to it. */
  verify(id: ObjectId): Promise<boolean>;
  readonly clock: Pick<Clock, 'now'>;
}

export function createStoreReplay({ runs, verify, clock }: StoreReplayParts): ReplaySource {
  return {
    async find(runId) {
      const result = (await runs.get(runId))?.result;
      if (!result) return undefined;
      const whole = await Promise.all([...new Set(result.outputs)].map(verify));
      return whole.every(Boolean) ? { data: result.data, callId: result.callId } : undefined;
    },
    keep: (result) => runs.keep({ ...result, data: result.data as Json }, clock.now()),
  };
}
