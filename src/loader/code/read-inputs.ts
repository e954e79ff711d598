// Owns: what lies below the paths that a deterministic tool may read, as digests: the part of its inputs that no call names.
// Refuses: to hash without end, and to guess: what cannot be read whole has no digest, and its tool is not replayed.
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ReadInputs } from '../../contract/runs.ts';
import { isFault, type KeptMemory, openTreeMemory, readTree, type TreeFault } from './read-tree.ts';

/** Of all paths of one tool together. */
export const READ_BOUNDS = { files: 5_000, bytes: 256 * 1024 * 1024 } as const;

/** Haft's own state, which no program reads. */
const isSkipped = (name: string): boolean => name === '.haft';

/** `root` is the workspace, which relative paths count from; files that are known are kept in its state folder. */
export function createReadInputs(root: string): ReadInputs {
  const memories = new Map<string, KeptMemory>();
  const memoryOf = (place: string): KeptMemory => {
    const known = memories.get(place) ?? openTreeMemory(`${root}/.haft/cache/reads`, place);
    memories.set(place, known);
    return known;
  };
  return (paths) => {
    let { files, bytes } = READ_BOUNDS as { files: number; bytes: number };
    const digests: Record<string, string | null> = {};
    for (const path of paths) {
      const real = realOf(resolve(root, path));
      if (real === undefined) return { why: `"${path}" cannot be read` };
      if (real === null) {
        digests[path] = null;
        continue;
      }
      const memory = memoryOf(real);
      const tree = readOrFault(real, { bounds: { files, bytes }, skip: isSkipped, folders: true, memory });
      memory.save();
      if (isFault(tree)) return { why: why(tree, path) };
      files -= tree.files.length;
      bytes -= tree.bytes;
      digests[path] = tree.digest;
    }
    return { digests };
  };
}

/** Null where nothing is there: that, too, is something that a program can see. */
function realOf(path: string): string | null | undefined {
  try {
    return realpathSync.native(path);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : undefined;
  }
}

function readOrFault(...[folder, options]: Parameters<typeof readTree>): ReturnType<typeof readTree> {
  try {
    return readTree(folder, options);
  } catch {
    return { fault: 'unreadable', path: '' };
  }
}

function why({ fault, path }: TreeFault, below: string): string {
  const named = path === '' ? below : `${below}/${path}`;
  const WHY: { readonly [F in TreeFault['fault']]: string } = {
    files: `what caps.filesystem.read names is more than ${READ_BOUNDS.files} files`,
    bytes: `what caps.filesystem.read names is more than ${READ_BOUNDS.bytes / 1024 / 1024} MB`,
    unreadable: `"${named}" cannot be read`,
    special: `"${named}" is neither a file nor a folder`,
  };
  return WHY[fault];
}
