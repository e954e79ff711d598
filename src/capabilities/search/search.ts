// Owns: `ctx.search.search`: where to look, with which engine, and what the caller is told beside the matches.
// Refuses: nothing by itself; place, selection and engine refuse.
import { readlinkSync, statSync } from 'node:fs';
import { leadsOut } from '../../base/follow-links.ts';
import type { CallScope, FsHandle } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { SearchQuery, SearchResult } from '../../contract/search.ts';
import { findPlace } from './place.ts';
import type { Outcome, SearchNotes, SearchSite } from './search-site.ts';
import { literalPath, selectionOf } from './selection.ts';

/** Searches a site that is not empty. */
export type Engine = (site: SearchSite, query: SearchQuery) => Promise<Outcome>;

export async function search(
  scope: CallScope,
  files: FsHandle,
  engine: Engine,
  asked: SearchQuery,
): Promise<SearchResult> {
  scope.signal.throwIfAborted();
  if (asked.pattern.includes('\0')) {
    throw fail(
      'input.pattern',
      'Cannot search for the pattern: it holds a NUL character, which no text does',
    );
  }
  const query = { ...asked, glob: folderGlob(scope, asked.glob) };
  const selection = selectionOf(query);
  const place = findPlace(scope, selection.base);
  if (!place) {
    const message = `Nothing was searched: there is no folder "${selection.base}"`;
    scope.warn({ reason: 'path.not_found', message });
    return { matches: [], files: [], truncated: false };
  }
  const {
    matches,
    files: counts,
    truncated,
    full,
    notes,
  } = await engine({ scope, files, selection, place }, query);
  tell(scope, notes);
  if (truncated) {
    const what = query.mode === 'matches' ? 'matches' : 'files';
    const count = Math.max(matches.length, counts.length);
    const advice = full
      ? 'the answer would be too large'
      : 'narrow the glob or the pattern, or raise max_results';
    scope.warn({
      reason: 'content.truncated',
      message: `Answered only the first ${count} ${what}: ${advice}`,
    });
  }
  return { matches, files: counts, truncated };
}

/** Who names a folder means what is in it. */
function folderGlob({ root, extraRoots }: CallScope, glob: string): string {
  const path = literalPath(glob);
  if (path === undefined) return glob;
  if (path === '.') return '**';
  const named = `${root}/${path}`;
  // A link that leaves is taken for a folder, which is refused: what is there is not looked at.
  return leadsOut(named, [root, ...extraRoots], readlinkSync) || isFolder(named) ? `${glob}/**` : glob;
}

/** Whatever cannot be looked at (too long a name, links in a circle) is none; why is found out when it is opened. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function tell(scope: CallScope, notes: SearchNotes): void {
  const { unreadable = 0, unnamed = 0, oversized = 0 } = notes;
  const left: readonly (readonly [count: number, reason: string, what: string])[] = [
    [unreadable, 'path.denied_by_os', 'files or folders could not be read and are left out'],
    [unnamed, 'path.invalid', 'files are left out whose names are not UTF-8: no tool could open them'],
    [oversized, 'content.truncated', 'matches are left out: their lines are too long'],
  ];
  for (const [count, reason, what] of left)
    if (count > 0) scope.warn({ reason, message: `${count} ${what}` });
}
