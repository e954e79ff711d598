// Owns: reading the cheapest thing that ripgrep can print: `path NUL`, then `line:col:text` lines, a blank line between files.
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
const NINE = 57;

export function createLinesReader(findings: Findings, maxLineBytes: number): OutputReader {
  let carry: Buffer = Buffer.alloc(0);
  let current: FileMatches | undefined;
  let count = 0;
  /** A path comes next. */
  let between = true;

  /** Answers where the first thing begins that is not whole. */
  const read = (text: string, coding: Coding): number => {
    let at = 0;
    while (at < text.length) {
      if (between) {
        const nul = text.indexOf('\0', at);
        if (nul < 0) return at;
        // Copied, not sliced: paths are compared and looked up a lot, which is slow with slices of a long text.
        current = openFile(findings, Buffer.from(text.slice(at, nul), coding));
        between = false;
        at = nul + 1;
        continue;
      }
      const end = text.indexOf('\n', at);
      if (end < 0) return at;
      const first = text.charCodeAt(at);
      if (first === NEWLINE) {
        between = true;
      } else if (first < ZERO || first > NINE) {
        // Not a line but the notice that the file turned out to be binary.
        if (current) findings.drop(current);
        current = undefined;
      } else if (current) {
        current.matches.push(readMatch(current.file, text, at, end, coding));
        count++;
      }
      at = end + 1;
    }
    return at;
  };

  const readMatch = (file: string, text: string, start: number, end: number, coding: Coding): SearchMatch => {
    let at = start;
    let line = 0;
    let col = 0;
    for (let c = text.charCodeAt(at); c !== COLON; c = text.charCodeAt(++at)) line = line * 10 + c - ZERO;
    for (let c = text.charCodeAt(++at); c !== COLON; c = text.charCodeAt(++at)) col = col * 10 + c - ZERO;
    const stop = end > at + 1 && text.charCodeAt(end - 1) === RETURN ? end - 1 : end;
    const shown = text.slice(at + 1, stop);
    // Most lines, and much faster without spreading.
    if (coding === 'utf8' && shown.length * 3 <= maxLineBytes) return { file, line, col, snippet: shown };
    const snippet =
      coding === 'utf8'
        ? snippetOfText(shown, col, maxLineBytes)
        : snippetOf(Buffer.from(shown, coding), col, maxLineBytes);
    return { file, line, col, ...snippet };
  };

  return {
    get count() {
      return count;
    },
    feed(chunk) {
      const all = carry.length === 0 ? chunk : Buffer.concat([carry, chunk]);
      const whole = all.lastIndexOf(NEWLINE) + 1;
      const lines = all.subarray(0, whole);
      const coding = isUtf8(lines) ? 'utf8' : 'latin1';
      const text = lines.toString(coding);
      const done = read(text, coding);
      // A name with a line break in it can leave its beginning behind.
      const left = done === text.length ? [] : [Buffer.from(text.slice(done), coding)];
      carry = Buffer.concat([...left, all.subarray(whole)]);
    },
  };
}
