// Owns: the proof that found files were what their paths say while they were searched: no folder on the way had an entry changed;
// and where one had, whether matches are really in the file of their name, read through the guarded handle.
// Refuses: to search again: a match is kept as it is, or not at all.
import { lstatSync } from 'node:fs';
import { parentOf } from '../../base/rel-path.ts';
import type { FsHandle } from '../../contract/capability.ts';
import { isFailure } from '../../contract/errors.ts';
import type { SearchMatch, SearchQuery } from '../../contract/search.ts';
import { contextOf, linesOf, searchedText, snippetOf } from './file-text.ts';

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

/** Change times are kept by a clock that ticks at least this often, in milliseconds. */
const TICK = 20;

/**
 * Splits paths (relative to `root`) into those that are certain and those that are not. Links can only have been
 * swapped in by changing an entry of a folder on the way, which leaves a change time that nobody can set back.
 * `since` is when the search began, in milliseconds since 1970.
 */
export function certainPaths(
  root: string,
  paths: Iterable<string>,
  since: number,
): (path: string) => boolean {
  const folderOf = createFolderOf();
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = folderOf(path); !folders.has(folder); folder = parentOf(folder)) folders.add(folder);
  }
  // Children before their parents: a parent swapped to hide a child's change time would itself have changed by the
  // time it is looked at.
  const unsteady = [...folders]
    .sort()
    .reverse()
    .filter((folder) => !isSteady(root, folder, since - TICK));
  if (unsteady.length === 0) return () => true;
  const suspects = new Set(unsteady);
  return (path) => {
    for (let folder = folderOf(path); ; folder = parentOf(folder)) {
      if (suspects.has(folder)) return false;
      if (folder === '.') return true;
    }
  };
}

/** Paths come in order, so that most lie in the folder of the one before. */
function createFolderOf(): (path: string) => string {
  let last = '.';
  return (path) => {
    const { length } = last;
    if (path.charCodeAt(length) === SLASH && path.startsWith(last) && path.lastIndexOf('/') === length)
      return last;
    last = parentOf(path);
    return last;
  };
}

const SLASH = 47;

function isSteady(root: string, folder: string, since: number): boolean {
  const stat = lstatSync(folder === '.' ? root : `${root}/${folder}`, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.ctimeMs < since;
}
