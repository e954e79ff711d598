// Owns: lines out of a stream of bytes, each bounded.
// Refuses: to hold more of a line than the bound: of a longer one only its two ends are kept, to tell whose it was.

export interface LineReader {
  /** To be awaited where it answers a promise: somebody keeps what cannot be held. */
  push(chunk: Uint8Array): Promise<void> | undefined;
}

export interface LineEvents {
  /** A whole line without its end. The bytes are the taker's. */
  line(bytes: Buffer): void;
  /** A line longer than the bound: its length, and a few KiB of its beginning and its end. */
  oversize(length: number, head: string, tail: string): void;
  /**
   * Told with every piece of such a line, before its end has come: how long it is by now, its beginning, and the piece,
   * the first of which is all that was held.
   */
  overrun?(length: number, head: string, piece: Uint8Array): Promise<void> | undefined;
}

const NEWLINE = 0x0a;
const ENDS = 4096;

export function createLineReader(maxBytes: number, events: LineEvents): LineReader {
  let parts: Uint8Array[] = [];
  let held = 0;
  let skipped: { length: number; readonly head: string; tail: Buffer } | undefined;
  let keeping: Promise<void> | undefined;

  const keep = (part: Uint8Array): void => {
    if (skipped) {
      skipped.length += part.length;
      skipped.tail = Buffer.concat([skipped.tail, part.subarray(-ENDS)]).subarray(-ENDS);
      keeping = events.overrun?.(skipped.length, skipped.head, part);
      return;
    }
    parts.push(part);
    held += part.length;
    if (held <= maxBytes) return;
    const whole = Buffer.concat(parts);
    // Copied: a view would keep all of it.
    skipped = {
      length: held,
      head: whole.toString('utf8', 0, ENDS),
      tail: Buffer.from(whole.subarray(-ENDS)),
    };
    parts = [];
    held = 0;
    keeping = events.overrun?.(skipped.length, skipped.head, whole);
  };
  const finish = (): void => {
    if (skipped) {
      const { length, head, tail } = skipped;
      skipped = undefined;
      events.oversize(length, head, tail.toString());
      return;
    }
    const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    parts = [];
    held = 0;
    events.line(Buffer.from(line.buffer, line.byteOffset, line.byteLength));
  };
  return {
    push(chunk) {
      keeping = undefined;
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        keep(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      if (from < chunk.length) keep(chunk.subarray(from));
      return keeping;
    },
  };
}

/** The `id` of a message too long to be held, where it is the first or the last of its fields. */
export function idOfEnds(head: string, tail: string): number | undefined {
  const found =
    /^\s*\{\s*"(?:jsonrpc"\s*:\s*"2\.0"\s*,\s*")?id"\s*:\s*(\d+)/.exec(head) ??
    /"id"\s*:\s*(\d+)\s*\}\s*$/.exec(tail);
  return found ? Number(found[1]) : undefined;
}
