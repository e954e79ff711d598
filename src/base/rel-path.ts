// Owns: what a caller's workspace-relative path means as text: one normal spelling, or a reason against it.
// Refuses: to look at the disk; links are the fs capability's to check, on the path that comes out of here.

type RelPathReason = 'path.invalid' | 'path.outside_workspace';

export type RelPath =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly reason: RelPathReason; readonly message: string };

/** `.` for the root; otherwise components joined by single slashes, without `.`, `..` or a slash at either end. */
export function normalizeRelPath(input: string): RelPath {
  if (input === '') return refuse('path.invalid', 'it is empty');
  if (input.length > MAX_PATH || Buffer.byteLength(input) > MAX_PATH)
    return refuse('path.invalid', `it is longer than ${MAX_PATH} bytes`);
  if (input.includes('\0')) return refuse('path.invalid', 'it holds a NUL character');
  if (!input.isWellFormed()) return refuse('path.invalid', 'it holds a lone surrogate');
  if (input.startsWith('/'))
    return refuse('path.outside_workspace', 'it is absolute, not relative to the workspace');
  const kept: string[] = [];
  for (const name of input.split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') {
      if (Buffer.byteLength(name) > MAX_NAME)
        return refuse('path.invalid', `a name in it is longer than ${MAX_NAME} bytes`);
      kept.push(name);
    } else if (kept.pop() === undefined) {
      return refuse('path.outside_workspace', 'its ".." leads out of the workspace');
    }
  }
  return { ok: true, path: kept.length === 0 ? '.' : kept.join('/') };
}

/** Whether a normal path is `dir` itself or lies beneath it. */
export function isUnder(path: string, dir: string): boolean {
  return (
    (dir === '.' && !path.startsWith('/')) ||
    path === dir ||
    (path.startsWith(dir) && path[dir.length] === '/')
  );
}

/** The same of two absolute ones, `/` included. */
export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);

/** The directory that holds a normal path; the root holds itself. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash === -1 ? '.' : path.slice(0, slash);
}

/** This folder and those above it, nearest first. `folder` is absolute and normal. */
export function foldersUp(folder: string): string[] {
  const names = folder.split('/').slice(1).filter(Boolean);
  return [...names.map((_, at) => `/${names.slice(0, names.length - at).join('/')}`), '/'];
}

/** Both parts must be normal already; this joins and checks nothing. */
export function joinRel(dir: string, rel: string): string {
  if (dir === '.') return rel;
  return rel === '.' ? dir : `${dir}/${rel}`;
}

/** Linux's PATH_MAX and NAME_MAX. */
const MAX_PATH = 4096;
const MAX_NAME = 255;

function refuse(reason: RelPathReason, fact: string): RelPath {
  return { ok: false, reason, message: `Cannot use the path: ${fact}` };
}
