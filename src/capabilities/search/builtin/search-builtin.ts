// Owns: searching without ripgrep: files one after the other, in order, through the guarded handle.
// Refuses: to keep the event loop for long.
import { setImmediate } from 'node:timers/promises';
import { isFailure } from '../../../contract/errors.ts';
import type { FileCount, SearchMatch, SearchQuery } from '../../../contract/search.ts';
import type { Extent } from '../extent.ts';
import { linesOf, searchedText } from '../file-text.ts';
import { type FileMatches, firstMatches } from '../findings.ts';
import type { Outcome, SearchSite } from '../search-site.ts';
import { contextOf, snippetOf } from '../snippet.ts';
import { compilePattern } from './compile-pattern.ts';

/** Larger files are left out. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Milliseconds after which others get their turn. */
const SLICE = 10;

export async function searchBuiltin(site: SearchSite, query: SearchQuery): Promise<Outcome> {
  const { scope, files, selection } = site;
  const find = await compilePattern(query);
  const { glob, includeHidden, includeIgnored, maxResults } = query;
  const listed = await files.list({
    glob,
    includeHidden,
    includeIgnored,
    maxResults: Number.MAX_SAFE_INTEGER,
  });
  const found: FileMatches[] = [];
  const counts: FileCount[] = [];
  let matches = 0;
  let unreadable = 0;
  let pause = Date.now() + SLICE;
  for (const file of listed.files) {
    if (Math.max(matches, counts.length) > maxResults) break;
    if (!selection.wants(file)) continue;
    const text = await readText(site, file);
    if (text === 'unreadable') unreadable++;
    else if (text && query.mode === 'matches') {
      const own = find(text, maxResults + 1).map((extent) => matchOf(file, text, extent, query));
      if (own.length > 0) found.push({ rel: file, file, matches: own });
      matches += own.length;
    } else if (text) {
      const count = find(text, Number.MAX_SAFE_INTEGER).length;
      if (count > 0) counts.push({ file, count });
    }
    if (Date.now() > pause) {
      await setImmediate();
      scope.signal.throwIfAborted();
      pause = Date.now() + SLICE;
    }
  }
  const answer = firstMatches(found, maxResults);
  const truncated = answer.truncated || counts.length > maxResults;
  return { ...answer, truncated, files: counts.slice(0, maxResults), notes: { unreadable } };
}

/** Undefined for what is not searched: links, binary files. */
async function readText({ files }: SearchSite, path: string): Promise<Buffer | 'unreadable' | undefined> {
  try {
    if ((await files.stat(path))?.type !== 'file') return undefined;
    return searchedText((await files.read(path, { maxBytes: MAX_BYTES })).bytes);
  } catch (thrown) {
    if (isFailure(thrown)) return 'unreadable';
    throw thrown;
  }
}

function matchOf(file: string, text: Buffer, extent: Extent, query: SearchQuery): SearchMatch {
  const { contextBefore, contextAfter, maxLineBytes } = query;
  const { line, endLine, col, bytes } = extent;
  const lines = contextBefore > 0 || contextAfter > 0 ? linesOf(text) : [];
  const around = (from: number, to: number) =>
    lines.slice(Math.max(0, from), to).map((one) => contextOf(one, maxLineBytes));
  return {
    file,
    line: line + 1,
    col,
    ...snippetOf(bytes, col, maxLineBytes),
    ...(endLine > line ? { endLine: endLine + 1 } : {}),
    ...(contextBefore > 0 ? { before: around(line - contextBefore, line) } : {}),
    ...(contextAfter > 0 ? { after: around(endLine + 1, endLine + 1 + contextAfter) } : {}),
  };
}
