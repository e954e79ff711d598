// Owns: what is shown of a line: all of it, or a part around the match, as text and, where it is none, as bytes.
// Refuses: line terminators.
import { isUtf8 } from 'node:buffer';
import type { SearchMatch } from '../../contract/search.ts';

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
