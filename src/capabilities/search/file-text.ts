// Owns: a file's bytes as they are searched: byte order marks taken off, UTF-16 made UTF-8, cut into lines.
// Refuses: binary files: a NUL byte makes one.

/** Undefined for a binary file. */
export function searchedText(bytes: Uint8Array): Buffer | undefined {
  const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = decoded(given);
  return text.includes(0) ? undefined : text;
}

function decoded(bytes: Buffer): Buffer {
  const [first, second, third] = bytes;
  if (first === 0xff && second === 0xfe) return Buffer.from(new TextDecoder('utf-16le').decode(bytes));
  if (first === 0xfe && second === 0xff) return Buffer.from(new TextDecoder('utf-16be').decode(bytes));
  return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
}

const LF = 10;
const CR = 13;

/** One line without its terminator, and where the next one begins. */
export interface Line {
  readonly bytes: Buffer;
  readonly next: number;
}

/** The line that begins at `start`, which lies before the end. */
export function lineAt(text: Buffer, start: number): Line {
  const found = text.indexOf(LF, start);
  if (found < 0) return { bytes: text.subarray(start), next: text.length };
  const end = found > start && text[found - 1] === CR ? found - 1 : found;
  return { bytes: text.subarray(start, end), next: found + 1 };
}

/** All lines. */
export function linesOf(text: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < text.length; ) {
    const { bytes, next } = lineAt(text, start);
    lines.push(bytes);
    start = next;
  }
  return lines;
}
