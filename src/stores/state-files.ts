// Owns: files of the state at the system's door: opened without waiting or following links, and their names made durable.
// Refuses: to know what they hold.
import { closeSync, constants, fsync, fsyncSync, openSync, writeFileSync } from 'node:fs';

/** Beside how a file is opened: nobody writes to a pipe that lies in its place, and a device never ends; neither is waited for. */
export const NO_WAIT = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Lets `use` have the file while it is open. */
export function withFile<T>(path: string, flags: number | string, use: (descriptor: number) => T): T {
  const descriptor = openSync(path, flags, 0o600);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Every name that is in the folder is on the disk when it returns. */
export const syncFolderSync = (folder: string): void => withFile(folder, 'r', fsyncSync);

/** The same, waiting in the thread pool. Only the wait is there: each step in a pool that is full of calls waits for all of them. */
export const syncFolder = (folder: string): Promise<void> => synced(folder, 'r');

/** Makes a file that nobody changes any more; it is on the disk once this resolves. */
export const writeSynced = (path: string, bytes: Uint8Array): Promise<void> =>
  synced(path, 'wx', (descriptor) => writeFileSync(descriptor, bytes));

async function synced(path: string, flags: string, write?: (descriptor: number) => void): Promise<void> {
  const descriptor = openSync(path, flags, 0o400);
  try {
    write?.(descriptor);
    await new Promise<void>((resolve, reject) => {
      fsync(descriptor, (error) => (error ? reject(error) : resolve()));
    });
  } finally {
    closeSync(descriptor);
  }
}
