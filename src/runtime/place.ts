// Owns: how effects name a path that a caller gave: relative in the workspace, absolute below an extra root.
// Refuses: to look at the disk; where links lead is found out, and asked about, when the path is opened.
import { isUnder, normalizeRelPath, parentOf } from '../base/rel-path.ts';
import { type Failure, fail } from '../contract/errors.ts';
import type { LoadedPolicy } from '../contract/policy.ts';
import { renderGrant } from '../policy/grant.ts';

/** A folder of `paths.extra_roots`: as it is written there, and where that really is. */
export interface ExtraRoot {
  readonly written: string;
  readonly real: string;
}

export const extraRootsOf = ({ file, resolved }: LoadedPolicy): readonly ExtraRoot[] =>
  (resolved?.extraRoots ?? []).map((real, at) => ({ written: file.paths?.extra_roots?.[at] ?? real, real }));

/** Answers a function that throws `path.invalid` or `path.outside_workspace`. The roots are asked for anew each time. */
export function createPlace(root: string, extraRoots: () => readonly ExtraRoot[]): (path: string) => string {
  return (path) => {
    if (!path.startsWith('/')) {
      const inside = normalizeRelPath(path);
      if (inside.ok) return inside.path;
      if (inside.reason !== 'path.outside_workspace') throw fail(inside.reason, inside.message);
    }
    const absolute = absoluteOf(root, path);
    if (absolute === undefined) throw outside(path, undefined);
    if (isUnder(absolute, root)) return absolute === root ? '.' : absolute.slice(root.length + 1);
    for (const { written, real } of extraRoots()) {
      if (isUnder(absolute, real)) return absolute;
      const named = absoluteOf(root, written);
      if (named !== undefined && isUnder(absolute, named)) return real + absolute.slice(named.length);
    }
    throw outside(path, folderToName(root, path, absolute));
  };
}

/** Undefined where it climbs out of everything. */
function absoluteOf(root: string, path: string): string | undefined {
  const whole = path.startsWith('/') ? path : `${root}/${path}`;
  const normal = normalizeRelPath(whole.replace(/^\/+/, '') || '.');
  if (normal.ok) return normal.path === '.' ? '/' : `/${normal.path}`;
  if (normal.reason !== 'path.outside_workspace') throw fail(normal.reason, normal.message);
  return undefined;
}

const LONGEST_LINE = 400;

/**
 * The folder that holds the path, as the caller would name it: who said `../x/y` is told of `../x`, not where that is on
 * this machine. Undefined where it also holds the workspace: as a root it would be refused.
 */
function folderToName(root: string, path: string, absolute: string): string | undefined {
  const folder = parentOf(absolute);
  if (folder === '' || isUnder(root, folder) || folder.length > LONGEST_LINE) return undefined;
  if (path.startsWith('/')) return folder;
  const names: string[] = [];
  for (const name of path.split('/')) {
    const climbs = name === '..' && (names.at(-1) ?? '..') === '..';
    if (name === '..' && !climbs) names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return names.slice(0, -1).join('/');
}

/** The caller named the path itself, so naming the folder that it is in tells nothing new. */
function outside(path: string, folder: string | undefined): Failure {
  const fact = path.startsWith('/') ? 'it is outside of the workspace' : 'it leads out of the workspace';
  return fail('path.outside_workspace', `Cannot use the path: ${fact}`, {
    rule: 'paths.extra_roots',
    ...(folder === undefined ? {} : { admit: renderGrant({ paths: { extra_roots: [folder] } }) }),
  });
}
