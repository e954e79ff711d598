// Owns: what a search has found so far, file by file, and what of it is answered: the first in order, within the answer's size.
// Refuses: files that are not wanted or that policy hides: nobody gets to add a match to one.
import { MAX_ANSWER_BYTES, type SearchMatch } from '../../contract/search.ts';

/** The matches of one file, in order of lines. */
export interface FileMatches {
  /** Relative to the root that is searched. */
  readonly rel: string;
  /** As the caller names it. */
  readonly file: string;
  readonly matches: SearchMatch[];
}

export interface Findings {
  /** Begins a file; undefined where it is not wanted. One that was begun before is begun anew. */
  open(rel: string): FileMatches | undefined;
  /** Forgets a file: it turned out to be binary. */
  drop(found: FileMatches): void;
  /** A file whose name is not UTF-8, which no caller could name. */
  skipUnnamed(): void;
  readonly unnamed: number;
  readonly files: ReadonlyMap<string, FileMatches>;
}

/** Whether a file, relative to the root, is one to answer with; and its path as the caller names it. */
export interface Sieve {
  wants(rel: string): boolean;
  shown(rel: string): string;
}

export function createFindings(sieve: Sieve): Findings {
  const files = new Map<string, FileMatches>();
  let unnamed = 0;
  return {
    files,
    get unnamed() {
      return unnamed;
    },
    open(rel) {
      if (!sieve.wants(rel)) return undefined;
      const found: FileMatches = { rel, file: sieve.shown(rel), matches: [] };
      files.set(rel, found);
      return found;
    },
    drop(found) {
      files.delete(found.rel);
    },
    skipUnnamed() {
      unnamed++;
    },
  };
}

/** Sorted by the bytes of what `pathOf` tells. */
export function inByteOrder<T>(items: Iterable<T>, pathOf: (item: T) => string): T[] {
  const sorted = [...items];
  // Strings compare by UTF-16 units; their bytes compare otherwise only where such characters are involved.
  if (sorted.some((item) => FROM_SURROGATES_ON.test(pathOf(item)))) {
    return sorted.sort((a, b) => Buffer.compare(Buffer.from(pathOf(a)), Buffer.from(pathOf(b))));
  }
  return sorted.sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : pathOf(a) > pathOf(b) ? 1 : 0));
}

const FROM_SURROGATES_ON = /[\ud800-\uffff]/;

export interface Answer {
  readonly matches: readonly SearchMatch[];
  readonly truncated: boolean;
  /** It was the size that ended it, not the number. */
  readonly full: boolean;
}

/** The first `maxResults` matches of files that are in order, as many as fit. */
export function firstMatches(files: Iterable<FileMatches>, maxResults: number): Answer {
  const matches: SearchMatch[] = [];
  let bytes = 0;
  for (const found of files) {
    for (const match of found.matches) {
      if (matches.length === maxResults) return { matches, truncated: true, full: false };
      bytes += sizeOf(match);
      if (bytes > MAX_ANSWER_BYTES && matches.length > 0) return { matches, truncated: true, full: true };
      matches.push(match);
    }
  }
  return { matches, truncated: false, full: false };
}

/** About the bytes that it takes as JSON; characters beyond ASCII count for three. */
function sizeOf({ file, snippet, snippetBase64, before, after }: SearchMatch): number {
  let size = OVERHEAD + textSize(file) + textSize(snippet) + (snippetBase64?.length ?? 0);
  for (const line of before ?? []) size += textSize(line) + 4;
  for (const line of after ?? []) size += textSize(line) + 4;
  return size;
}

const OVERHEAD = 100;
const textSize = (text: string) => Buffer.byteLength(text);
