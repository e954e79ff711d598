// Owns: whether matches are really in the file of their name, read through the guarded handle.
// Refuses: to search again: a match is kept as it is, or not at all.
import type { FsHandle } from '../../contract/capability.ts';
import { isFailure } from '../../contract/errors.ts';
import type { SearchMatch, SearchQuery } from '../../contract/search.ts';
import { linesOf, searchedText } from './file-text.ts';
import { contextOf, snippetOf } from './snippet.ts';

/** Larger files are not read to be sure of them. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Those that hold. None where the file is not there, may not be read, or is another kind of thing by now. */
export async function confirmed(
  files: FsHandle,
  path: string,
  matches: readonly SearchMatch[],
  query: SearchQuery,
): Promise<SearchMatch[]> {
  const text = await readText(files, path);
  if (!text) return [];
  const lines = linesOf(text);
  return matches.filter((match) => holds(match, lines, query));
}

async function readText(files: FsHandle, path: string): Promise<Buffer | undefined> {
  try {
    if ((await files.stat(path))?.type !== 'file') return undefined;
    return searchedText((await files.read(path, { maxBytes: MAX_BYTES })).bytes);
  } catch (thrown) {
    if (isFailure(thrown)) return undefined;
    throw thrown;
  }
}

function holds(match: SearchMatch, lines: readonly Buffer[], query: SearchQuery): boolean {
  const { contextBefore, contextAfter, maxLineBytes } = query;
  const from = match.line - 1;
  const to = match.endLine ?? match.line;
  if (to > lines.length) return false;
  const { snippet, snippetBase64 } = snippetOf(passage(lines, from, to), match.col, maxLineBytes);
  if (snippet !== match.snippet || snippetBase64 !== match.snippetBase64) return false;
  const around = (start: number, end: number) =>
    lines.slice(Math.max(0, start), end).map((line) => contextOf(line, maxLineBytes));
  const { before, after } = match;
  return (
    (!before || same(before, around(from - contextBefore, from))) &&
    (!after || same(after, around(to, to + contextAfter)))
  );
}

/** Several lines are shown as they are, terminators between them included. */
function passage(lines: readonly Buffer[], from: number, to: number): Buffer {
  const first = lines[from]!;
  const last = lines[to - 1]!;
  if (to - from === 1) return first;
  return Buffer.from(first.buffer, first.byteOffset, last.byteOffset + last.length - first.byteOffset);
}

const same = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((line, i) => line === b[i]);
