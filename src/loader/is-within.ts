// Owns: whether a path is a folder or lies below it, by its names alone.
// Refuses: following links; both are expected to be resolved.
import { realpathSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { ignoreErrors } from '../base/ignore-errors.ts';

/** What `relative` would have to take apart first: two slashes, a dot or two between slashes, one at the end. */
const ODD = /^[^/]|\/\/|\/\.\.?(?:\/|$)|.\/$/;

/** The same with links followed; of what is not there, by its name. */
export function leadsWithin(path: string, folder: string): boolean {
  const real = (one: string) => ignoreErrors(() => realpathSync.native(one)) ?? one;
  return isWithin(path, folder) && isWithin(real(path), real(folder));
}

export function isWithin(path: string, folder: string): boolean {
  if (!ODD.test(path) && !ODD.test(folder))
    return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
  const way = relative(folder, path);
  return way === '' || (!isAbsolute(way) && way !== '..' && !way.startsWith('../'));
}
