// Owns: reading `path NUL line:col:text`, the cheapest thing that ripgrep can print.
// Refuses: context and matches over several lines; those come as JSON.
import { isUtf8 } from 'node:buffer';
import type { SearchMatch } from '../../../contract/search.ts';
import type { FileMatches, Findings } from '../findings.ts';
import { snippetOf, snippetOfText } from '../snippet.ts';
import { type OutputReader, openFile } from './output-reader.ts';

/** Decoded text, or (where it is not UTF-8) one character a byte. */
type Coding = 'utf8' | 'latin1';

const NEWLINE = 10;
const RETURN = 13;
const COLON = 58;
const ZERO = 48;

export function createLinesReader(findings: Findings, maxLineBytes: number): OutputReader {
  let carry: Buffer | undefined;
  let current: FileMatches | undefined;
  let count = 0;
  /** The path of the line before, with its NUL, in the coding of the text that it was in. */
  let head = '';
  let coding: Coding = 'utf8';

  /** Answers where the first line begins that is not whole. */
  const read = (text: string): number => {
    let at = 0;
    while (at < text.length) {
      if (head === '' || !text.startsWith(head, at)) {
        const notice = noticeEnd(text, at, head);
        if (notice > 0) {
          if (current) findings.drop(current);
          current = undefined;
          at = notice;
          continue;
        }
        const nul = text.indexOf('\0', at);
        if (nul < 0) return at;
        head = text.slice(at, nul + 1);
        const path = text.slice(at, nul);
        current = openFile(findings, coding === 'utf8' ? path : Buffer.from(path, 'latin1'));
      }
      const start = at + head.length;
      const end = text.indexOf('\n', start);
      if (end < 0) return at;
      if (current) {
        current.matches.push(readMatch(current.file, text, start, end));
        count++;
      }
      at = end + 1;
    }
    return at;
  };

  const readMatch = (file: string, text: string, start: number, end: number): SearchMatch => {
    let at = start;
    let line = 0;
    let col = 0;
    for (let c = text.charCodeAt(at); c !== COLON; c = text.charCodeAt(++at)) line = line * 10 + c - ZERO;
    for (let c = text.charCodeAt(++at); c !== COLON; c = text.charCodeAt(++at)) col = col * 10 + c - ZERO;
    const stop = end > at + 1 && text.charCodeAt(end - 1) === RETURN ? end - 1 : end;
    const line_ = text.slice(at + 1, stop);
    if (coding === 'latin1') {
      return { file, line, col, ...snippetOf(Buffer.from(line_, 'latin1'), col, maxLineBytes) };
    }
    // Most lines, and much faster without spreading.
    if (line_.length * 3 <= maxLineBytes) return { file, line, col, snippet: line_ };
    return { file, line, col, ...snippetOfText(line_, col, maxLineBytes) };
  };

  return {
    get count() {
      return count;
    },
    feed(chunk) {
      const all = carry ? Buffer.concat([carry, chunk]) : chunk;
      const whole = all.lastIndexOf(NEWLINE) + 1;
      const lines = all.subarray(0, whole);
      const next: Coding = isUtf8(lines) ? 'utf8' : 'latin1';
      if (next !== coding) head = Buffer.from(head, coding).toString(next);
      coding = next;
      const text = lines.toString(coding);
      const done = read(text);
      // A name with a line break in it can leave a beginning behind.
      const left = Buffer.from(text.slice(done), coding);
      carry = Buffer.concat([left, all.subarray(whole)]);
    },
  };
}

/**
 * Where a file turns out to be binary only after lines of it were printed, a notice follows them. Answers where it
 * ends; 0 where there is none.
 */
function noticeEnd(text: string, at: number, head: string): number {
  if (head === '') return 0;
  const isNotice = text.startsWith(`${head.slice(0, -1)}: WARNING: stopped searching binary file`, at);
  return isNotice ? text.indexOf('\n', at + head.length) + 1 : 0;
}
