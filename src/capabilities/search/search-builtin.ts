// Owns: searching without ripgrep: files one after the other, in order, through the guarded handle, by a pattern that finds its
// matches in time linear in the text.
// Refuses: to keep the event loop for long, and patterns that a line can never match or that the engine does not take.
import { setImmediate } from 'node:timers/promises';
import { fail, isFailure } from '../../contract/errors.ts';
import type { FileCount, SearchMatch, SearchQuery } from '../../contract/search.ts';
import { contextOf, type Extent, extentsOf, lineAt, linesOf, searchedText, snippetOf } from './file-text.ts';
import { type FileMatches, firstMatches } from './findings.ts';
import type { Outcome, SearchSite } from './search.ts';

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

/** At most `max` matches of a text. */
type Finder = (text: Buffer, max: number) => Extent[];

type Pattern = Pick<SearchQuery, 'pattern' | 'fixedStrings' | 'caseSensitive' | 'multiline'>;

/** Throws `input.pattern`. */
async function compilePattern(query: Pattern): Promise<Finder> {
  const { pattern, fixedStrings, caseSensitive, multiline } = query;
  if (!multiline && spansLines(pattern, fixedStrings))
    throw fail('input.pattern', 'Cannot search for the pattern: a line break is only matched with multiline');
  const { RE2JS } = await import('re2js');
  const flags = (caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE) | (multiline ? RE2JS.MULTILINE : 0);
  try {
    const compiled = RE2JS.compile(fixedStrings ? RE2JS.quote(pattern) : pattern, flags);
    return multiline ? overLines(compiled) : lineByLine(compiled);
  } catch (thrown) {
    const problem = (thrown as Error).message.replace(/^error parsing regexp: /, '');
    throw fail('input.pattern', `Cannot search for the pattern: ${problem}`);
  }
}

type Compiled = InstanceType<typeof import('re2js').RE2JS>;

/** A class that leaves line breaks out is fine. */
function spansLines(pattern: string, fixed: boolean): boolean {
  if (pattern.includes('\n')) return true;
  return !fixed && /\\n/.test(pattern.replaceAll('\\\\', '').replaceAll(/\[\^[^\]]*\]/g, ''));
}

function lineByLine(compiled: Compiled): Finder {
  return (text, max) => {
    const found: Extent[] = [];
    for (let start = 0, line = 0; start < text.length && found.length < max; line++) {
      const { bytes, next } = lineAt(text, start);
      const matcher = compiled.matcher(bytes);
      if (matcher.find()) found.push({ line, endLine: line, col: matcher.start() + 1, bytes });
      start = next;
    }
    return found;
  };
}

function overLines(compiled: Compiled): Finder {
  return (text, max) => {
    const matcher = compiled.matcher(text);
    const found: { start: number; end: number }[] = [];
    while (found.length < max && matcher.find()) found.push({ start: matcher.start(), end: matcher.end() });
    return extentsOf(text, found);
  };
}
