// Owns: where a search begins: the folder that the glob names, after links, admitted by name and by where it really is.
// Refuses: to promise that it stays there; what is found is held against the disk again (see guard.ts).
import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { leadsOut } from '../../base/follow-links.ts';
import type { CallScope } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import { isNeverSearched } from './selection.ts';

export interface Place {
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
export function findPlace(scope: CallScope, base: string): Place | undefined {
  const effect = { kind: 'fs.read', path: base, tree: true } as const;
  scope.admit(effect);
  const named = base === '.' ? scope.root : `${scope.root}/${base}`;
  const roots = [scope.root, ...scope.extraRoots];
  // Before looking: a link that leaves says so whether or not a folder is there.
  if (leadsOut(named, roots, readlinkSync)) throw outside(base);
  const real = realFolder(named, base);
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
  if (isNeverSearched(rel)) return undefined;
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
