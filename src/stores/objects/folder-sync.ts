// Owns: making names in folders durable, with one sync for all that wait for the same folder.
// Refuses: to take a sync that was already running for an answer; it may have begun too early.
import { lstat, mkdir, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { fail } from '../../contract/errors.ts';

export interface FolderSync {
  /** Resolves once every name that was in the folder at the call is on the disk. */
  sync(folder: string): Promise<void>;
  /** Makes sure that a folder is there, durably, with all those above it up to the root. */
  ensure(folder: string): Promise<void>;
  /** Somebody removed folders: look again. */
  forget(): void;
}

export function createFolderSync(root: string): FolderSync {
  const ensured = new Map<string, Promise<void>>();
  const running = new Map<string, Promise<void>>();
  const next = new Map<string, Promise<void>>();

  const start = (folder: string): Promise<void> => {
    const sync = syncFolder(folder).finally(() => running.delete(folder));
    running.set(folder, sync);
    return sync;
  };

  const sync = (folder: string): Promise<void> => {
    const current = running.get(folder);
    if (!current) return start(folder);
    const planned = next.get(folder);
    if (planned) return planned;
    const later = current
      .catch(() => {})
      .then(() => {
        next.delete(folder);
        return start(folder);
      });
    next.set(folder, later);
    return later;
  };

  /** A folder that is already there counts as new: whoever made it may have died before its sync. */
  const make = async (folder: string): Promise<void> => {
    const above = dirname(folder);
    if (folder !== root) await ensure(above);
    await mkdir(folder, { recursive: folder === root, mode: 0o700 }).catch(unlessThere);
    if (!(await lstat(folder)).isDirectory())
      throw fail(
        'store.unwritable',
        `Cannot keep an object: "${basename(folder)}" in its way is not a folder; remove it`,
      );
    await sync(above);
  };

  const ensure = (folder: string): Promise<void> => {
    const known = ensured.get(folder);
    if (known) return known;
    const made = make(folder).catch((thrown) => {
      ensured.delete(folder);
      throw thrown;
    });
    ensured.set(folder, made);
    return made;
  };

  return { sync, ensure, forget: () => ensured.clear() };
}

function unlessThere(thrown: NodeJS.ErrnoException): void {
  if (thrown.code !== 'EEXIST') throw thrown;
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
