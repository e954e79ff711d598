// Owns: `ctx.fs.list`: a glob over the workspace, ignore files and policy respected.
// Refuses: what policy hides, without saying that it is there.
import type { CallScope, Listing, ListQuery } from '../../contract/capability.ts';
import { isFailure } from '../../contract/errors.ts';
import { locate } from './beneath.ts';
import { createFolderReader } from './folder-reader.ts';
import { createGlobQueries, type GlobQuery } from './glob-query.ts';
import { createIgnoreFiles } from './ignore-scope.ts';
import { type Located, release } from './located.ts';
import { nameOf, type Root } from './root.ts';
import { type WalkQuery, walk } from './walk.ts';
import { createWantedEntries } from './wanted-entries.ts';

export type List = (scope: CallScope, root: Root, query: ListQuery) => Promise<Listing>;

/** For as long as a runtime lives: what was compiled for one listing serves the next. */
export function createLister(): List {
  const queryOf = createGlobQueries();
  const disk = {
    ignoreFiles: createIgnoreFiles(),
    readFolder: createFolderReader(),
    wantedIn: createWantedEntries(),
  };
  return (scope, root, query) => list(scope, root, query, queryOf(query.glob, query.includeHidden), disk);
}

/**
 * What the glob spells out before its first wildcard is taken at its word: hidden and ignored folders there are
 * listed, and a link there is followed. Below it no link is followed; links are listed like files.
 */
async function list(
  scope: CallScope,
  root: Root,
  query: ListQuery,
  { base, matcherIn, mayContain }: GlobQuery,
  disk: Pick<WalkQuery, 'ignoreFiles' | 'readFolder' | 'wantedIn'>,
): Promise<Listing> {
  const effect = { kind: 'fs.read', path: base, tree: true } as const;
  scope.admit(effect);
  const start = find(root, base);
  if (!start) return { files: [], truncated: false };
  try {
    const real = nameOf(start.root, start.rel);
    if (real !== base) scope.admit(effect, { kind: 'fs.read', path: real, tree: true });
    const sees = scope.visible;
    const visible = start.root.extra ? (rel: string) => sees(nameOf(start.root, rel)) : sees;
    if (!start.stat.isDirectory()) {
      const files = matcherIn('')(base) && visible(start.rel) ? [base] : [];
      return { files: files.slice(0, query.maxResults), truncated: files.length > query.maxResults };
    }
    const { maxResults, includeIgnored, includeDirs = false } = query;
    const { signal } = scope;
    const ignoreFiles = includeIgnored ? undefined : disk.ignoreFiles;
    const wanted = { ...disk, matcherIn, mayContain, visible, maxResults, ignoreFiles, includeDirs, signal };
    const { files, truncated, unreadable } = await walk(start, base, wanted);
    if (unreadable > 0) {
      scope.warn({
        reason: 'path.denied_by_os',
        message: `${unreadable} folders could not be read and are left out`,
      });
    }
    return { files, truncated };
  } finally {
    release(start);
  }
}

/** A glob that begins where nothing is matches nothing. */
function find(root: Root, base: string): Located | undefined {
  try {
    return locate(root, base, 'list');
  } catch (thrown) {
    if (isFailure(thrown) && (thrown.reason === 'path.not_found' || thrown.reason === 'path.not_directory')) {
      return undefined;
    }
    throw thrown;
  }
}
