// Owns: how large an answer is, without writing it out.
// Refuses: exactness: it counts the UTF-8 bytes of strings and a few bytes for the rest.

/** About the bytes that `value` takes as JSON; never more than a few per cent below it for text. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return byteLength(value) + 2;
  if (typeof value !== 'object' || value === null) return 8;
  let total = 2;
  if (Array.isArray(value)) {
    for (const item of value) total += sizeOf(item) + 1;
  } else {
    for (const key in value) total += key.length + 4 + sizeOf((value as Record<string, unknown>)[key]);
  }
  return total;
}

/** Short texts are mostly ASCII, and looked through sooner than asked about. */
function byteLength(text: string): number {
  if (text.length > 64) return Buffer.byteLength(text);
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return Buffer.byteLength(text);
  return text.length;
}
