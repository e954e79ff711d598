// Owns: whether a path is a folder or lies below it, by its names alone.
// Refuses: following links; both are expected to be resolved.
import { isAbsolute, relative } from 'node:path';

export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (!isAbsolute(way) && way !== '..' && !way.startsWith('../'));
}
