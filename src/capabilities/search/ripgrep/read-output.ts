// Owns: reading what ripgrep prints: `path NUL` and `line:col:text` lines, which is the cheapest; JSON, for context and for matches over
// several lines; or `path NUL count`. And how its paths become ours.
// Refuses: paths that are not UTF-8 and records beyond measure; they are counted and left out.
import { isUtf8 } from 'node:buffer';
import type { SearchMatch, SearchQuery } from '../../../contract/search.ts';
import { contextOf, extentsOf, linesOf, snippetOf, snippetOfText } from '../file-text.ts';
import type { FileMatches, Findings } from '../findings.ts';

/** Takes what ripgrep prints, in any pieces. */
export interface OutputReader {
  feed(chunk: Buffer): void;
  /** How many matches were read. */
  readonly count: number;
  /** Records that were too long to be read. */
  readonly oversized?: number;
}

/** Begins the file of this path; undefined where it is not wanted. */
export function openFile(findings: Findings, path: Buffer): FileMatches | undefined {
  if (!isUtf8(path)) {
    findings.skipUnnamed();
    return undefined;
  }
  // Paths come as they were given, so with a `./` that we put before them.
  const given = path[0] === DOT && path[1] === SLASH ? 2 : 0;
  return findings.open(path.toString('utf8', given));
}

const DOT = 46;
const SLASH = 47;

/** Decoded text, or (where it is not UTF-8) one character a byte. */
type Coding = 'utf8' | 'latin1';

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

/** Text, or base64 where it is not UTF-8. */
type Data = { readonly text: string } | { readonly bytes: string };

interface Message {
  readonly type: 'begin' | 'match' | 'context' | 'end' | 'summary';
  readonly data: {
    readonly path: Data;
    readonly lines: Data;
    readonly line_number: number;
    readonly submatches: readonly Submatch[];
    readonly binary_offset: number | null;
  };
}

/** Lines of a file, and where in them matches begin and end; context has none. */
interface Passage {
  readonly line: number;
  readonly text: Buffer;
  readonly submatches: readonly Submatch[];
}

interface Submatch {
  readonly start: number;
  readonly end: number;
}

const MAX_RECORD = 32 * 1024 * 1024;

export function createJsonReader(findings: Findings, query: SearchQuery): OutputReader {
  let pieces: Buffer[] = [];
  let held = 0;
  let oversized = 0;
  let count = 0;
  let current: FileMatches | undefined;
  let passages: Passage[] = [];

  const take: { readonly [type in Message['type']]: (data: Message['data']) => void } = {
    begin({ path }) {
      passages = [];
      current = openFile(findings, bytesOf(path));
    },
    match(data) {
      if (!current) return;
      passages.push(passageOf(data));
      count += Math.max(1, data.submatches.length);
    },
    context(data) {
      if (current) passages.push(passageOf(data));
    },
    end({ binary_offset }) {
      if (!current) return;
      if (binary_offset === null) current.matches.push(...matchesOf(current.file, passages, query));
      else findings.drop(current);
      current = undefined;
    },
    summary() {},
  };
  const record = (bytes: Buffer) => {
    const { type, data } = JSON.parse(bytes.toString('utf8')) as Message;
    take[type](data);
  };
  const hold = (piece: Buffer) => {
    held += piece.length;
    if (held <= MAX_RECORD) pieces.push(piece);
    else pieces = [];
  };

  return {
    get count() {
      return count;
    },
    get oversized() {
      return oversized;
    },
    feed(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        hold(chunk.subarray(start, end));
        if (held > MAX_RECORD) oversized++;
        else record(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
        pieces = [];
        held = 0;
        start = end + 1;
      }
      if (start < chunk.length) hold(Buffer.from(chunk.subarray(start)));
    },
  };
}

const bytesOf = (data: Data): Buffer =>
  'text' in data ? Buffer.from(data.text) : Buffer.from(data.bytes, 'base64');

function passageOf({ lines, line_number, submatches }: Message['data']): Passage {
  return { line: line_number, text: bytesOf(lines), submatches };
}

function matchesOf(file: string, passages: readonly Passage[], query: SearchQuery): SearchMatch[] {
  const { contextBefore, contextAfter, maxLineBytes } = query;
  const lines = new Map<number, Buffer>();
  for (const { line, text } of passages) {
    for (const [i, bytes] of linesOf(text).entries()) lines.set(line + i, bytes);
  }
  const around = (from: number, to: number): string[] => {
    const shown: string[] = [];
    for (let line = from; line < to; line++) {
      const bytes = lines.get(line);
      if (bytes) shown.push(contextOf(bytes, maxLineBytes));
    }
    return shown;
  };
  return passages.flatMap(({ line: first, text, submatches }) =>
    extentsOf(text, submatches).map(({ line, endLine, col, bytes }): SearchMatch => {
      const at = first + line;
      const next = first + endLine + 1;
      return {
        file,
        line: at,
        col,
        ...snippetOf(bytes, col, maxLineBytes),
        ...(endLine > line ? { endLine: next - 1 } : {}),
        ...(contextBefore > 0 ? { before: around(at - contextBefore, at) } : {}),
        ...(contextAfter > 0 ? { after: around(next, next + contextAfter) } : {}),
      };
    }),
  );
}

const NEWLINE = 10;

interface CountsReader extends OutputReader {
  /** By path relative to the root. */
  readonly counts: ReadonlyMap<string, number>;
}

export function createCountsReader(findings: Findings): CountsReader {
  const counts = new Map<string, number>();
  let carry: Buffer = Buffer.alloc(0);
  let count = 0;
  return {
    counts,
    get count() {
      return count;
    },
    feed(chunk) {
      const all = Buffer.concat([carry, chunk]);
      let at = 0;
      for (let nul = all.indexOf(0); nul >= 0; nul = all.indexOf(0, at)) {
        const end = all.indexOf(NEWLINE, nul);
        if (end < 0) break;
        const found = openFile(findings, all.subarray(at, nul));
        if (found) {
          const lines = Number(all.toString('latin1', nul + 1, end));
          counts.set(found.rel, lines);
          count += lines;
        }
        at = end + 1;
      }
      carry = all.subarray(at);
    },
  };
}
