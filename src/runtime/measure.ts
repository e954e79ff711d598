// Owns: how large an answer is, without writing it out.
// Refuses: exactness: it counts the UTF-8 bytes of strings and a few bytes for the rest.

/** About the bytes that `value` takes as JSON; never more than a few per cent below it for text. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 2;
  if (typeof value !== 'object' || value === null) return 8;
  let total = 2;
  if (Array.isArray(value)) {
    for (const item of value) total += sizeOf(item) + 1;
  } else {
    for (const key in value) total += key.length + 4 + sizeOf((value as Record<string, unknown>)[key]);
  }
  return total;
}
