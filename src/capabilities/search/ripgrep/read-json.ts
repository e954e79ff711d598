// Owns: reading ripgrep's JSON: matches over several lines, context, and which files are binary after all.
// Refuses: records beyond measure; they are counted and left out.
import type { SearchMatch, SearchQuery } from '../../../contract/search.ts';
import { extentsOf } from '../extent.ts';
import { linesOf } from '../file-text.ts';
import type { FileMatches, Findings } from '../findings.ts';
import { contextOf, snippetOf } from '../snippet.ts';
import { type OutputReader, openFile } from './output-reader.ts';

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

const NEWLINE = 10;
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
