// Owns: where the bodies of tools are put: a few large runs of bytes, instead of one for each of thousands.
// Refuses: taking anything back.

export interface Slice {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const SLAB = 1024 * 1024;

export function createSlabs(): { put(text: string): Slice } {
  let bytes = Buffer.alloc(0);
  let used = 0;
  return {
    put(text) {
      // Three bytes are the most that a unit of UTF-16 becomes.
      const most = text.length * 3;
      if (bytes.length - used < most) {
        bytes = Buffer.allocUnsafeSlow(Math.max(SLAB, most));
        used = 0;
      }
      const start = used;
      used += bytes.write(text, start);
      return { bytes, start, end: used };
    },
  };
}
