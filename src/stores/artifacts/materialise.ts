// Owns: a tree on the disk again: folders, then verified copies of its files, all of them read-only and of one age.
// Refuses: to write into a folder that is there, and to follow anything: every path of a tree is normal.
import { chmod, mkdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { TreeEntry } from '../../base/tree-manifest.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectStore } from '../../contract/object-store.ts';
import { toFailure } from '../store-failure.ts';

export const READ_ONLY = 0o444;
const RUNS = 0o555;
/** Writable for who made it, so that it can be removed; what is in it is not. */
const FOLDER = 0o755;

/** 1980, the earliest that every archive format can say: equal inputs are equally old. */
const TIME = new Date('1980-01-01T00:00:00Z');

export async function materialiseTree(
  entries: readonly TreeEntry[],
  path: string,
  objects: Pick<ObjectStore, 'copyTo'>,
): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    // Parents come first.
    for (const entry of entries) {
      const place = join(path, entry.path);
      if (entry.type === 'dir') await mkdir(place, { mode: FOLDER });
      else await objects.copyTo(`sha256:${entry.sha256}`, place, entry.executable ? RUNS : READ_ONLY);
    }
    // Children first: writing to a folder changes its time.
    for (const entry of entries.toReversed()) await setTime(join(path, entry.path));
    await chmod(path, FOLDER);
    await setTime(path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST')
      throw fail('path.exists', 'Cannot copy the tree: something is already there');
    throw toFailure(thrown, 'Cannot copy the tree');
  }
}

export async function setTime(path: string): Promise<void> {
  await utimes(path, TIME, TIME);
}
