// Owns: buffers that keep part of a stream and count all of it: its first bytes, or its beginning and its end.
// Refuses: to drop bytes silently: they go back to the caller for spilling, or are counted where they are left out.

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

export interface BothEnds {
  push(chunk: Uint8Array): void;
  readonly truncated: boolean;
  /** How many bytes were pushed, kept or not. */
  readonly total: number;
  /** A few bytes over the cap where something was left out: they say so. */
  bytes(): Uint8Array;
}

/** Keeps a quarter of `cap` of the beginning, and the rest of the end. */
export function createBothEnds(cap: number): BothEnds {
  const head = createBoundedBuffer(Math.floor(cap / 4));
  const room = cap - Math.floor(cap / 4);
  /** A ring: what comes takes the place of what is oldest. */
  let ring = new Uint8Array(0);
  let next = 0;
  let past = 0;
  const put = (bytes: Uint8Array) => {
    if (past + bytes.length > ring.length && ring.length < room) {
      const grown = new Uint8Array(Math.min(room, Math.max(4096, 2 * ring.length, past + bytes.length)));
      grown.set(ring.subarray(0, past));
      ring = grown;
      next = past;
    }
    past += bytes.length;
    const last = bytes.subarray(Math.max(0, bytes.length - ring.length));
    const start = (next + bytes.length - last.length) % ring.length;
    const fits = Math.min(last.length, ring.length - start);
    ring.set(last.subarray(0, fits), start);
    ring.set(last.subarray(fits), 0);
    next = (start + last.length) % ring.length;
  };
  return {
    push(chunk) {
      const rest = head.push(chunk);
      if (rest.length > 0) put(rest);
    },
    get truncated() {
      return head.total > cap;
    },
    get total() {
      return head.total;
    },
    bytes() {
      if (past <= ring.length) return Buffer.concat([head.bytes(), ring.subarray(0, past)]);
      const mark = Buffer.from(leftOut(past - ring.length, 'bytes'));
      return Buffer.concat([head.bytes(), mark, ring.subarray(next), ring.subarray(0, next)]);
    },
  };
}

/** The same of a text that is at hand, in at most so many characters. */
export function bothEnds(text: string, length: number): string {
  if (text.length <= length) return text;
  const mark = leftOut(text.length - length, 'characters');
  const room = Math.max(0, length - mark.length);
  const head = Math.floor(room / 4);
  return `${text.slice(0, head)}${mark}${text.slice(text.length - (room - head))}`;
}

const leftOut = (count: number, what: string): string => `\n[… ${count} ${what} left out …]\n`;
