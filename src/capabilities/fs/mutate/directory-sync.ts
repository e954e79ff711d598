// Owns: making changes to folders durable, with as few syncs as the promise allows.
// Refuses: to answer from a sync that had begun before it was asked.
import { closeSync, constants, fsync, openSync } from 'node:fs';
import { type Located, O_DIRECTORY } from '../root.ts';

/** Resolves once every change made to the folder before the call is on disk. */
export type SyncFolder = (folder: Pick<Located, 'path' | 'stat'>) => Promise<void>;

/** All who wait for the same folder while a sync of it is under way share the next one. */
export function createDirectorySync(): SyncFolder {
  const running = new Map<string, Promise<void>>();
  const waiting = new Map<string, Promise<void>>();

  const start = (key: string, fd: number): Promise<void> => {
    waiting.delete(key);
    const sync = syncAndClose(fd).finally(() => {
      if (running.get(key) === sync) running.delete(key);
    });
    running.set(key, sync);
    return sync;
  };

  return (folder) => {
    const key = `${folder.stat.dev}:${folder.stat.ino}`;
    const next = waiting.get(key);
    if (next) return next;
    const fd = openSync(folder.path, constants.O_RDONLY | O_DIRECTORY);
    const current = running.get(key);
    if (!current) return start(key, fd);
    const after = current.then(
      () => start(key, fd),
      () => start(key, fd),
    );
    waiting.set(key, after);
    return after;
  };
}

function syncAndClose(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fsync(fd, (error) => {
      closeSync(fd);
      if (error) reject(error);
      else resolve();
    });
  });
}
