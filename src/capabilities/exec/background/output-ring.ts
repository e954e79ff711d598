// Owns: the end of what a background shell printed on both streams, in the order in which it came, by position.
// Refuses: to keep more than its capacity: the oldest goes, and whoever reads learns how much.
import type { ShellPiece } from '../../../contract/shells.ts';

type Stream = ShellPiece['stream'];

export interface OutputRing {
  push(stream: Stream, chunk: Uint8Array): void;
  /** One past the last byte that was ever pushed. */
  readonly end: number;
  /** `final`: nothing more comes, so that a character that is not whole is shown as it is. */
  read(since: number, maxBytes: number, final: boolean): RingRead;
}

interface RingRead {
  readonly output: readonly ShellPiece[];
  readonly next: number;
  readonly lost: number;
}

interface Block {
  readonly stream: Stream;
  readonly at: number;
  bytes: Uint8Array;
  used: number;
}

const BLOCK = 64 * 1024;

export function createOutputRing(capacity: number): OutputRing {
  const blocks: Block[] = [];
  let end = 0;
  const put = (stream: Stream, chunk: Uint8Array): void => {
    const last = blocks.at(-1);
    if (last?.stream === stream && last.used + chunk.length <= BLOCK) {
      if (last.used + chunk.length > last.bytes.length) {
        const grown = new Uint8Array(Math.min(BLOCK, 2 * (last.used + chunk.length)));
        grown.set(last.bytes.subarray(0, last.used));
        last.bytes = grown;
      }
      last.bytes.set(chunk, last.used);
      last.used += chunk.length;
    } else blocks.push({ stream, at: end, bytes: Uint8Array.from(chunk), used: chunk.length });
    end += chunk.length;
  };
  return {
    push(stream, chunk) {
      for (let at = 0; at < chunk.length; at += BLOCK) put(stream, chunk.subarray(at, at + BLOCK));
      // Many short blocks, one for each change of streams, cost more than what is in them.
      while (blocks.length > 1 && (end - blocks[1]!.at >= capacity || blocks.length > MOST_BLOCKS))
        blocks.shift();
    },
    get end() {
      return end;
    },
    read(since, maxBytes, final) {
      const first = blocks[0]?.at ?? end;
      let next = Math.min(Math.max(since, first), end);
      const lost = Math.max(0, Math.min(first, end) - since);
      let room = maxBytes;
      const parts: { stream: Stream; bytes: Uint8Array }[] = [];
      for (const { stream, at, bytes, used } of blocks) {
        if (at + used <= next) continue;
        if (room <= 0) break;
        const from = next - at;
        const part = bytes.subarray(from, Math.min(used, from + room));
        const before = parts.at(-1);
        if (before?.stream === stream) before.bytes = Buffer.concat([before.bytes, part]);
        else parts.push({ stream, bytes: part });
        room -= part.length;
        next += part.length;
      }
      const last = parts.at(-1);
      // The rest of a character comes with the next read; without it there would be nothing to go on with.
      const cut = last && !(final && next === end) ? unfinished(last.bytes) : 0;
      if (last && cut < last.bytes.length) {
        last.bytes = last.bytes.subarray(0, last.bytes.length - cut);
        next -= cut;
      }
      return {
        output: parts.map(({ stream, bytes }) => ({ stream, text: Buffer.from(bytes).toString('utf8') })),
        next,
        lost,
      };
    },
  };
}

const MOST_BLOCKS = 20_000;

/** How many bytes at the end are the beginning of a character of UTF-8. */
function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return back < length ? back : 0;
  }
  return 0;
}
