// Owns: whether a path is a folder or lies below it, by its names alone.
// Refuses: following links; both are expected to be resolved.
import { isAbsolute, relative } from 'node:path';

/** What `relative` would have to take apart first: two slashes, a dot or two between slashes, one at the end. */
const ODD = /^[^/]|\/\/|\/\.\.?(?:\/|$)|.\/$/;

export function isWithin(path: string, folder: string): boolean {
  if (!ODD.test(path) && !ODD.test(folder))
    return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
  const way = relative(folder, path);
  return way === '' || (!isAbsolute(way) && way !== '..' && !way.startsWith('../'));
}
