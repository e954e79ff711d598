// Owns: a file's bytes as they are searched (byte order marks taken off, UTF-16 made UTF-8, cut into lines), the lines that matches
// span, and what is shown of a line: all of it, or a part around the match, as text and, where it is none, as bytes.
// Refuses: binary files (a NUL byte makes one), and a second match that begins in the same line.
import { isUtf8 } from 'node:buffer';
import type { SearchMatch } from '../../contract/search.ts';

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

export interface Extent {
  /** Counted from 0. */
  readonly line: number;
  readonly endLine: number;
  /** The byte of the line at which it begins, from 1. */
  readonly col: number;
  /** The lines, without the last one's terminator. */
  readonly bytes: Buffer;
}

/** `matches` in order of their beginnings. A line break at the end of a match is of the line that it ends. */
export function extentsOf(
  text: Buffer,
  matches: Iterable<{ readonly start: number; readonly end: number }>,
): Extent[] {
  const extents: Extent[] = [];
  let line = 0;
  let lineStart = 0;
  let last = -1;
  for (const { start, end } of matches) {
    for (
      let next = text.indexOf(LF, lineStart);
      next >= 0 && next < start;
      next = text.indexOf(LF, lineStart)
    ) {
      lineStart = next + 1;
      line++;
    }
    if (line === last) continue;
    last = line;
    let endLine = line;
    let stop = text.indexOf(LF, lineStart);
    for (; stop >= 0 && stop < end - 1; stop = text.indexOf(LF, stop + 1)) endLine++;
    if (stop < 0) stop = text.length;
    else if (stop > lineStart && text[stop - 1] === CR) stop--;
    extents.push({ line, endLine, col: start - lineStart + 1, bytes: text.subarray(lineStart, stop) });
  }
  return extents;
}

type Shown = Pick<SearchMatch, 'snippet' | 'snippetCol' | 'snippetBase64'>;

/** Of a longer line only the beginning is looked at. */
export const LONG_LINE = 64 * 1024;

/** `col` is the byte, from 1, that a cut shall leave in. */
export function snippetOf(line: Buffer, col: number, maxBytes: number): Shown {
  if (line.length <= maxBytes) return shownAs(line);
  const seen = line.length > LONG_LINE ? line.subarray(0, charStart(line, LONG_LINE)) : line;
  // A quarter of the room for what comes before the match; a match beyond what is looked at shows the beginning.
  const ideal = col - 1 < seen.length ? Math.max(0, col - 1 - Math.floor(maxBytes / 4)) : 0;
  const start = nextChar(seen, Math.max(0, Math.min(ideal, seen.length - maxBytes)));
  const end = charStart(seen, Math.min(seen.length, start + maxBytes));
  return { ...shownAs(seen.subarray(start, end > start ? end : start + maxBytes)), snippetCol: start + 1 };
}

/** The same for a line that is already text; most are short enough to stay as they are. */
export function snippetOfText(line: string, col: number, maxBytes: number): Shown {
  if (line.length * 3 <= maxBytes || Buffer.byteLength(line) <= maxBytes) return { snippet: line };
  return snippetOf(Buffer.from(line), col, maxBytes);
}

/** A line of context: from its beginning. */
export function contextOf(line: Buffer, maxBytes: number): string {
  const end = line.length <= maxBytes ? line.length : charStart(line, maxBytes);
  return line.toString('utf8', 0, end);
}

function shownAs(bytes: Buffer): Shown {
  const snippet = bytes.toString('utf8');
  return isUtf8(bytes) ? { snippet } : { snippet, snippetBase64: bytes.toString('base64') };
}

/** Not in the middle of a character: up to three bytes on. */
function nextChar(bytes: Buffer, at: number): number {
  let start = at;
  while (start - at < 3 && isContinuation(bytes[start])) start++;
  return isContinuation(bytes[start]) ? at : start;
}

/** The same, up to three bytes back. */
function charStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && at - start < 3 && isContinuation(bytes[start])) start--;
  return isContinuation(bytes[start]) ? at : start;
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;
