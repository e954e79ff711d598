// Owns: where a path leads by its names alone, links included, also when parts of it are missing.
// Refuses: promises. The answer may be outdated when it is used: it says what to try, or why trying failed.
import { ignoreErrors } from './ignore-errors.ts';
import { isUnder } from './rel-path.ts';

const MAX_LINKS = 40;

/**
 * An absolute path; undefined when the links lead in a circle. What is missing counts as plain names. Where the way leaves
 * the roots it ends, also if it would come back: whether it does depends on what exists out there, which is nobody's business.
 * `readLink` answers undefined, or throws, for what is no link.
 */
export function followLinks(
  path: string,
  roots: readonly string[],
  readLink: (path: string) => string | undefined,
): string | undefined {
  let at = '/';
  let links = 0;
  const pending = path.split('/').reverse();
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      at = at.slice(0, at.lastIndexOf('/')) || '/';
      continue;
    }
    const next = at === '/' ? `/${part}` : `${at}/${part}`;
    // What leads to a root is there, and is what the roots were resolved to: no link.
    const above = roots.some((root) => isBeneath(root, next));
    const target = above ? undefined : ignoreErrors(() => readLink(next));
    if (target === undefined) {
      at = next;
      if (!above && !roots.some((root) => isBeneath(next, root))) return at;
      continue;
    }
    if (++links > MAX_LINKS) return undefined;
    if (target.startsWith('/')) at = '/';
    pending.push(...target.split('/').reverse());
  }
  return at;
}

/** Whether the way to `path`, which lies beneath one of the roots by its name, leaves them. A circle does not. */
export function leadsOut(
  path: string,
  roots: readonly string[],
  readLink: (path: string) => string | undefined,
): boolean {
  const led = followLinks(path, roots, readLink);
  return led !== undefined && !roots.some((root) => isBeneath(led, root));
}

const isBeneath = (path: string, dir: string): boolean => dir === '/' || isUnder(path, dir);
