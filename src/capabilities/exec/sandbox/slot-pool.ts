// Owns: which slot serves whom: idle ones first, new ones while there is room, the rest in the order they came.
// Refuses: to hand out a slot whose shell is gone.
import type { Slot } from './slot.ts';

export interface SlotPool {
  /** Undefined when no slot can be made, or when aborted. `counted` ones are bounded by the concurrency, others never wait. */
  acquire(counted: boolean, signal?: AbortSignal): Promise<Slot | undefined>;
  release(slot: Slot, counted: boolean): void;
  /** Whether no counted one is under way or waits. */
  readonly quiet: boolean;
}

export function createSlotPool(concurrency: number, open: () => Promise<Slot | undefined>): SlotPool {
  const idle: Slot[] = [];
  const waiting = new Set<() => void>();
  let busy = 0;
  const idleSlot = () => {
    for (let slot = idle.pop(); slot; slot = idle.pop()) if (!slot.dead) return slot;
    return undefined;
  };
  const free = (counted: boolean) => {
    if (!counted) return;
    busy--;
    const [next] = waiting;
    next?.();
  };
  /** True when it is somebody's turn, false when they no longer want it. */
  const turn = (signal: AbortSignal | undefined) =>
    new Promise<boolean>((resolve) => {
      const go = (mine: boolean) => {
        waiting.delete(take);
        signal?.removeEventListener('abort', leave);
        resolve(mine);
      };
      const take = () => {
        busy++;
        go(true);
      };
      const leave = () => go(false);
      if (busy < concurrency) return take();
      if (signal?.aborted) return leave();
      waiting.add(take);
      signal?.addEventListener('abort', leave);
    });
  return {
    async acquire(counted, signal) {
      if (counted && !(await turn(signal))) return undefined;
      const slot = idleSlot() ?? (await open());
      if (!slot) free(counted);
      return slot;
    },
    release(slot, counted) {
      if (!slot.dead) idle.push(slot);
      free(counted);
    },
    get quiet() {
      return busy === 0 && waiting.size === 0;
    },
  };
}
