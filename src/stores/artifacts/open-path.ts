// Owns: what is at an absolute path of this machine, opened for import: a file, or every file of a folder.
// Refuses: links, also the last part of the path; devices and sockets; and a path that is not absolute.
import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import type { OpenFile, TreeItem } from '../../contract/artifacts.ts';
import { fail } from '../../contract/errors.ts';
import { toFailure } from '../store-failure.ts';

export type OpenedPath = { readonly file: OpenFile } | { readonly items: readonly TreeItem[] };

export async function openPath(path: string, signal?: AbortSignal): Promise<OpenedPath> {
  if (!isAbsolute(path)) throw fail('path.invalid', 'Cannot import: the path is not absolute');
  try {
    const stat = await lstat(path);
    if (!stat.isDirectory()) return { file: await openFile(path, basename(path)) };
    const items: TreeItem[] = [];
    await collect(path, '', items, signal);
    return { items };
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT')
      throw fail('path.not_found', `Cannot import "${basename(path)}": nothing is there`);
    throw toFailure(thrown, `Cannot import "${basename(path)}"`);
  }
}

const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const OWNER_RUNS = 0o100;

async function openFile(path: string, name: string): Promise<OpenFile> {
  // Looked at before it is opened: opening a device may have an effect.
  if (!(await lstat(path)).isFile()) throw notRegular(name);
  const handle = await open(path, FLAGS);
  const stat = await handle.stat();
  if (!stat.isFile()) {
    await handle.close();
    throw notRegular(name);
  }
  return {
    size: stat.size,
    executable: (stat.mode & OWNER_RUNS) !== 0,
    ...(process.platform === 'linux' ? { clonePath: `/proc/self/fd/${handle.fd}` } : {}),
    read: async (into, position) => (await handle.read(into, 0, into.length, position)).bytesRead,
    close: () => handle.close(),
  };
}

async function collect(
  folder: string,
  prefix: string,
  items: TreeItem[],
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted();
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = `${prefix}${entry.name}`;
    const place = join(folder, entry.name);
    if (entry.isDirectory()) {
      items.push({ type: 'dir', path });
      await collect(place, `${path}/`, items, signal);
    } else if (entry.isFile()) items.push({ type: 'file', path, open: () => openFile(place, path) });
    else throw notRegular(path);
  }
}

function notRegular(name: string): Error {
  return fail('path.not_regular', `Cannot import "${name}": it is neither a regular file nor a folder`);
}
