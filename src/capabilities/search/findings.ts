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

/** Sorted by the bytes of their paths. */
export function inByteOrder<T extends { readonly rel: string }>(files: Iterable<T>): T[] {
  const byPath = new Map<string, T>();
  let plain = true;
  for (const file of files) {
    byPath.set(file.rel, file);
    plain &&= !FROM_SURROGATES_ON.test(file.rel);
  }
  // Strings compare by UTF-16 units; their bytes compare otherwise only where such characters are involved.
  const paths = [...byPath.keys()];
  if (plain) paths.sort();
  else paths.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return paths.map((path) => byPath.get(path)!);
}

const FROM_SURROGATES_ON = /[\ud800-\uffff]/;

export interface Answer {
  readonly matches: readonly SearchMatch[];
  readonly truncated: boolean;
  /** It was the size that ended it, not the number. */
  readonly full: boolean;
}

/**
 * The first `maxResults` matches of files that are in order, as many as fit. `textBytes`, where it is known, is no less
 * than the text of all matches takes, and spares looking at each.
 */
export function firstMatches(files: Iterable<FileMatches>, maxResults: number, textBytes?: number): Answer {
  const matches: SearchMatch[] = [];
  const fits = textBytes !== undefined && textBytes < MAX_ANSWER_BYTES;
  let bytes = fits ? textBytes : 0;
  for (const found of files) {
    // Each match names the file again.
    const each = OVERHEAD + Buffer.byteLength(found.file);
    for (const match of found.matches) {
      if (matches.length === maxResults) return { matches, truncated: true, full: false };
      bytes += fits ? each : each + textSize(match);
      if (bytes > MAX_ANSWER_BYTES && matches.length > 0) return { matches, truncated: true, full: true };
      matches.push(match);
    }
  }
  return { matches, truncated: false, full: false };
}

/** About what the names of the fields and the numbers take as JSON. */
const OVERHEAD = 64;

function textSize({ snippet, snippetBase64, before, after }: SearchMatch): number {
  let size = Buffer.byteLength(snippet) + (snippetBase64?.length ?? 0);
  for (const line of before ?? []) size += Buffer.byteLength(line) + 4;
  for (const line of after ?? []) size += Buffer.byteLength(line) + 4;
  return size;
}
