// Owns: copies in the place of folders: which mounts of a workspace they take, and which others lie below them.
// Refuses: a copy from anywhere but Haft's own, and to let anything of the folder itself show through its copy.
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { orUndefined } from '../../../base/or-undefined.ts';
import { isWithin } from '../../../base/rel-path.ts';
import type { CodeCopy, SandboxRefusal } from '../../../contract/sandbox.ts';

export interface ShownCopy {
  /** Where it appears. */
  readonly at: string;
  /** Where it lies, links followed. */
  readonly real: string;
  /** Where the sandbox's user finds it. */
  readonly source: string;
  /** What below it stays as it is. */
  readonly live?: readonly string[];
}

export type CheckedCopy = Omit<ShownCopy, 'source'>;

/** Tools and programs can neither read nor write there, so that nobody but Haft has put it there. */
export function checkCopy(
  { at, from, live = [] }: CodeCopy,
  workspace: string,
): CheckedCopy | SandboxRefusal {
  const home = join(workspace, '.haft', 'packs');
  const real = orUndefined(() => realpathSync.native(from));
  if (real !== undefined && real !== home && isWithin(real, home)) return { at, real, live };
  const message = `Cannot show a copy of "${at}" to the program: it is not below .haft/packs`;
  return { reason: 'path.protected', message };
}

/**
 * The mounts of a workspace, by relative path, without what a copy covers. What is hidden stays hidden, where the copy has it,
 * and what is live stays; everything else below would be the folder's own.
 */
export function withoutCopied<A extends string>(
  mounts: readonly (readonly [path: string, access: A])[],
  root: string,
  copies: readonly ShownCopy[],
): (readonly [path: string, access: A])[] {
  if (copies.length === 0) return [...mounts];
  return mounts.filter(([path, access]) => {
    const at = join(root, path);
    const copy = copies.find((one) => one.at !== at && isWithin(at, one.at));
    if (copy?.live?.some((path) => isWithin(at, path))) return true;
    return !copy || (access === 'none' && existsSync(join(copy.real, at.slice(copy.at.length + 1))));
  });
}
