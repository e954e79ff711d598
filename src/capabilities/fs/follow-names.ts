// Owns: where a path leads by its names alone, links included, also when parts of it are missing.
// Refuses: promises. The answer may be outdated when it is used: it says what to try, or why trying failed.
import { readlinkSync } from 'node:fs';
import type { Root } from './root.ts';

const MAX_LINKS = 40;

/** An absolute path; undefined when the links lead in a circle. What is missing counts as plain names. */
export function followNames(root: Root, rel: string): string | undefined {
  let at = root.path;
  let links = 0;
  const pending = rel.split('/').reverse();
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      at = at.slice(0, at.lastIndexOf('/')) || '/';
      continue;
    }
    const next = at === '/' ? `/${part}` : `${at}/${part}`;
    const target = linkTarget(next);
    if (target === undefined) {
      at = next;
      continue;
    }
    if (++links > MAX_LINKS) return undefined;
    if (target.startsWith('/')) at = '/';
    pending.push(...target.split('/').reverse());
  }
  return at;
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
