// Owns: which paths of the workspace a program must not see or must not change, from policy's path rules.
// Refuses: to guess: a glob with a wildcard is matched against what is really there.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compileGlob, globBase } from '../../base/glob.ts';
import { isUnder, joinRel } from '../../base/rel-path.ts';
import type { Fence } from '../../contract/policy.ts';

export interface FencedPaths {
  readonly hidden: readonly string[];
  readonly readOnly: readonly string[];
}

/**
 * The topmost matches of each rule, relative to the root. Links are not followed. With `below`, what is neither there nor
 * on the way there is not looked at.
 */
export function fencedPaths(root: string, fences: readonly Fence[], below?: readonly string[]): FencedPaths {
  const hidden = new Set<string>();
  const readOnly = new Set<string>();
  for (const fence of fences) {
    if (fence.glob.startsWith('/')) continue;
    for (const path of matchesBelow(root, fence.glob, below)) {
      if (fence.read) hidden.add(path);
      else if (fence.write) readOnly.add(path);
    }
  }
  return { hidden: [...hidden].sort(), readOnly: [...readOnly].filter((path) => !hidden.has(path)).sort() };
}

function matchesBelow(root: string, glob: string, below: readonly string[] | undefined): string[] {
  const concerns = (rel: string) => !below || below.some((path) => isUnder(rel, path) || isUnder(path, rel));
  const matches = compileGlob(glob, { dot: true });
  const found: string[] = [];
  const visit = (rel: string): void => {
    if (rel === '.haft' || rel === '.git' || !concerns(rel)) return;
    if (rel !== '.' && matches(rel)) {
      found.push(rel);
      return;
    }
    for (const entry of entriesOf(join(root, rel))) {
      const child = joinRel(rel, entry.name);
      if (entry.isDirectory()) visit(child);
      else if (matches(child) && concerns(child)) found.push(child);
    }
  };
  visit(globBase(glob));
  return found;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
