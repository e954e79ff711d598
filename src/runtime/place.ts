// Owns: how effects name a path that a caller gave: relative in the workspace, absolute below an extra root.
// Refuses: to look at the disk; where links lead is found out, and asked about, when the path is opened.
import { isUnder, normalizeRelPath } from '../base/rel-path.ts';
import { type Failure, fail } from '../contract/errors.ts';

/** Answers a function that throws `path.invalid` or `path.outside_workspace`. The roots are asked for anew each time. */
export function createPlace(root: string, extraRoots: () => readonly string[]): (path: string) => string {
  return (path) => {
    if (!path.startsWith('/')) return normal(path, path);
    const inside = normal(path.replace(/^\/+/, '') || '.', path);
    const absolute = inside === '.' ? '/' : `/${inside}`;
    if (isUnder(absolute, root)) return absolute === root ? '.' : absolute.slice(root.length + 1);
    if (extraRoots().some((extra) => isUnder(absolute, extra))) return absolute;
    throw outside(absolute, 'it is outside of the workspace');
  };
}

function normal(path: string, given: string): string {
  const result = normalizeRelPath(path);
  if (result.ok) return result.path;
  if (result.reason === 'path.outside_workspace') throw outside(given, 'it leads out of the workspace');
  throw fail(result.reason, result.message);
}

/** The caller named the path itself, so naming the folder that it is in tells nothing new. */
function outside(given: string, fact: string): Failure {
  const slash = given.lastIndexOf('/');
  const folder = slash > 0 ? given.slice(0, slash) : slash === 0 ? '/' : '..';
  const admit = folder.length > 400 ? {} : { admit: `paths:\n  extra_roots: [${JSON.stringify(folder)}]` };
  return fail('path.outside_workspace', `Cannot use the path: ${fact}`, {
    rule: 'paths.extra_roots',
    ...admit,
  });
}
