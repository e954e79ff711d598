// Owns git's C-style quoting of path names in diffs, both directions.
// Refuses to judge a path: whether it stays inside the workspace is asked elsewhere.

const LETTERS: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
};
const ESCAPES = new Map(Object.entries(LETTERS).map(([letter, byte]) => [byte, `\\${letter}`]));

/** The path as git prints it: bare when every byte is printable ASCII, else quoted with octal escapes. */
export function quotePath(path: string): string {
  let quoted = '';
  let odd = false;
  for (const byte of new TextEncoder().encode(path)) {
    const plain = byte >= 32 && byte < 127 && !ESCAPES.has(byte);
    odd ||= !plain;
    quoted += plain
      ? String.fromCharCode(byte)
      : (ESCAPES.get(byte) ?? `\\${byte.toString(8).padStart(3, '0')}`);
  }
  return odd ? `"${quoted}"` : path;
}

/** Reads a quoted path that begins at `from`; `end` is just past its closing quote. */
export function unquotePath(text: string, from = 0): { path: string; end: number } | undefined {
  if (text[from] !== '"') return undefined;
  const bytes: number[] = [];
  let at = from + 1;
  while (at < text.length) {
    const char = String.fromCodePoint(text.codePointAt(at)!);
    if (char === '"') return { path: decode(bytes), end: at + 1 };
    if (char !== '\\') {
      bytes.push(...new TextEncoder().encode(char));
      at += char.length;
      continue;
    }
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(at + 1, at + 4));
    const byte = octal ? Number.parseInt(octal[0], 8) : LETTERS[text[at + 1] ?? ''];
    if (byte === undefined) return undefined;
    bytes.push(byte);
    at += octal ? 4 : 2;
  }
  return undefined;
}

/** Bytes that are not UTF-8 become one character each (latin1), as callers decode such content. */
function decode(bytes: number[]): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return bytes.map((byte) => String.fromCharCode(byte)).join('');
  }
}
