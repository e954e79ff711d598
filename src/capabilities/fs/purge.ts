// Owns: removing a tree that was put aside, through pinned folders only.
// Refuses: to follow a link: what a swapped-in link points at stays untouched.
import { chmod, rmdir, unlink } from 'node:fs/promises';
import { enterFolder, leaveFolder, type PinnedFolder, readFolder } from './child-folder.ts';
import { errnoOf } from './path-failures.ts';

/** Removes `name` and all below it. What is gone already is fine; other errors of the system are thrown. */
export async function purge(parent: PinnedFolder, name: string): Promise<void> {
  const path = `${parent.path}/${name}`;
  const errno = await unlink(path).then(() => undefined, errnoOf);
  if (errno === undefined || errno === 'ENOENT') return;
  const folder = enterFolder(parent, name);
  if (!folder) throw Object.assign(new Error('cannot be removed'), { code: errno });
  try {
    // What was put aside is about to go: its own permissions need not stand in the way.
    if (process.getuid?.() !== 0) await chmod(folder.path, 0o700).catch(() => undefined);
    for (const entry of readFolder(folder) ?? []) await purge(folder, entry.name);
  } finally {
    leaveFolder(folder);
  }
  await rmdir(path);
}
