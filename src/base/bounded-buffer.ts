// Owns: the first `cap` bytes of a stream, and the count of all of them.
// Refuses: to drop bytes silently: what does not fit goes back to the caller, for spilling.

export interface BoundedBuffer {
  /** Keeps what fits and returns the rest: a view into `chunk`, empty where all of it fitted. */
  push(chunk: Uint8Array): Uint8Array;
  /** Whether anything was handed back. */
  readonly truncated: boolean;
  /** The bytes kept so far; later pushes leave this view as it is. */
  bytes(): Uint8Array;
  /** How many bytes were pushed, kept or not. */
  readonly total: number;
}

export function createBoundedBuffer(cap: number): BoundedBuffer {
  if (!Number.isSafeInteger(cap) || cap < 0) throw new RangeError(`Cannot bound a buffer to ${cap} bytes`);
  let store: Uint8Array = new Uint8Array(Math.min(cap, 4096));
  let used = 0;
  let total = 0;
  return {
    push(chunk) {
      const kept = Math.min(chunk.length, cap - used);
      if (used + kept > store.length) {
        const grown = new Uint8Array(Math.min(cap, Math.max(store.length * 2, used + kept)));
        grown.set(store.subarray(0, used));
        store = grown;
      }
      store.set(chunk.subarray(0, kept), used);
      used += kept;
      total += chunk.length;
      return chunk.subarray(kept);
    },
    get truncated() {
      return total > used;
    },
    bytes: () => store.subarray(0, used),
    get total() {
      return total;
    },
  };
}
