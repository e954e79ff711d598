// Owns: how effects name a path that a caller gave: relative in the workspace, absolute below an extra root.
// Refuses: to look at the disk; where links lead is found out, and asked about, when the path is opened.
import { isUnder, normalizeRelPath } from '../base/rel-path.ts';
import { fail } from '../contract/errors.ts';

/** Answers a function that throws `path.invalid` or `path.outside_workspace`. */
export function createPlace(root: string, extraRoots: readonly string[]): (path: string) => string {
  return (path) => {
    if (!path.startsWith('/')) return normal(path, path);
    const inside = normal(path.slice(1) === '' ? '.' : path.slice(1).replace(/^\/+/, '') || '.', path);
    const absolute = inside === '.' ? '/' : `/${inside}`;
    if (isUnder(absolute, root)) return absolute === root ? '.' : absolute.slice(root.length + 1);
    if (extraRoots.some((extra) => isUnder(absolute, extra))) return absolute;
    throw fail('path.outside_workspace', 'Cannot use the path: it is outside of the workspace', {
      admit: 'paths:\n  extra_roots: ["<the folder that the path is in>"]',
    });
  };
}

function normal(path: string, given: string): string {
  const result = normalizeRelPath(path);
  if (result.ok) return result.path;
  const shown = given.length > 120 ? `${given.slice(0, 120)}…` : given;
  const quoted = given.startsWith('/') ? 'the path' : JSON.stringify(shown);
  throw fail(result.reason, result.message.replace('the path', quoted));
}
