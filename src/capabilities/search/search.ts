// Owns: `ctx.search.search`: where to look (the folder that the glob names, after links, admitted by name and by where it really is),
// with which engine, and what the caller is told beside the matches.
// Refuses: to promise that a folder stays where it is; what is found is held against the disk again (see confirm.ts).
import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { followLinks, leadsOut } from '../../base/follow-links.ts';
import type { CallScope, FsHandle } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { SearchQuery, SearchResult } from '../../contract/search.ts';
import { isNeverSearched, literalPath, type Selection, selectionOf } from './selection.ts';

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
  // Who wants none asks only whether they may.
  if (query.maxResults === 0) return { matches: [], files: [], truncated: false };
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

interface Place {
  /** The root that the folder lies beneath: the workspace, or one of the roots beside it. Absolute, without links. */
  readonly root: string;
  /** The folder, relative to that root, without links; '.' is the root. */
  readonly rel: string;
  /** The path as the caller names it, of one relative to the root. */
  shown(rel: string): string;
  /** The path as policy knows it, of one relative to the root. */
  known(rel: string): string;
}

/** Undefined where there is no such folder. Throws what `admit` does, and `path.outside_workspace`. */
function findPlace(scope: CallScope, base: string): Place | undefined {
  const effect = { kind: 'fs.read', path: base, tree: true } as const;
  scope.admit(effect);
  const named = base === '.' ? scope.root : `${scope.root}/${base}`;
  const roots = [scope.root, ...scope.extraRoots];
  // Before looking: a link that leaves says so whether or not a folder is there.
  if (leadsOut(named, roots, readlinkSync)) throw outside(base);
  const folder = realFolder(named, base);
  // That none is there is told only to those who may look at where links lead.
  const real = folder ?? followLinks(named, roots, readlinkSync);
  if (real === undefined) return undefined;
  const root = roots
    .filter((one) => real === one || real.startsWith(one.endsWith('/') ? one : `${one}/`))
    .reduce<string | undefined>(
      (best, one) => (best === undefined || one.length > best.length ? one : best),
      undefined,
    );
  if (root === undefined) throw outside(base);
  const rel = real === root ? '.' : real.slice(root.endsWith('/') ? root.length : root.length + 1);
  const known =
    root === scope.root
      ? (path: string) => path
      : (path: string) => (path === '.' ? root : `${root}/${path}`);
  if (known(rel) !== base) scope.admit(effect, { kind: 'fs.read', path: known(rel), tree: true });
  if (folder === undefined || isNeverSearched(rel)) return undefined;
  const cut = rel === '.' ? 0 : rel.length + 1;
  const head = base === '.' ? '' : `${base}/`;
  return { root, rel, known, shown: (path) => (rel === base ? path : head + path.slice(cut)) };
}

const outside = (base: string) =>
  fail('path.outside_workspace', `Cannot search "${base}": a link in it leads outside of the workspace`);

function realFolder(path: string, base: string): string | undefined {
  try {
    const real = realpathSync.native(path);
    return statSync(real).isDirectory() ? real : undefined;
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    if (NOT_THERE.has(code)) return undefined;
    throw fail('path.denied_by_os', `Cannot search "${base}": the operating system refuses it (${code})`);
  }
}

const NOT_THERE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);

export interface SearchSite {
  readonly scope: CallScope;
  /** The guarded handle of the same call. */
  readonly files: FsHandle;
  readonly selection: Selection;
  readonly place: Place;
}

export interface Outcome extends SearchResult {
  /** The answer is truncated because it would have been too large. */
  readonly full: boolean;
  readonly notes: SearchNotes;
}

/** What was left out, and how often. */
interface SearchNotes {
  /** Files and folders that could not be read. */
  readonly unreadable?: number;
  /** Files whose names are not UTF-8. */
  readonly unnamed?: number;
  /** Matches in lines too long to be read. */
  readonly oversized?: number;
}
