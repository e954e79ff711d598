// Owns: a file on its way to becoming an object: written at any place of it, several pieces at once.
// Refuses: names; where it goes is not known before its last byte.
import { chmod, constants, copyFile, type FileHandle, rm } from 'node:fs/promises';
import { toFailure } from '../store-failure.ts';

export interface StagedFile {
  /** The bytes must stay as they are until this resolves. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Starts to bring to the disk what was written so far, so that the end need not wait for all of it. */
  flush(): Promise<void>;
  discard(): Promise<void>;
}

export function stagedFile(handle: FileHandle, path: string): StagedFile {
  const use = <T>(work: Promise<T>): Promise<T> =>
    work.catch((thrown) => {
      throw toFailure(thrown, 'Cannot use the object store');
    });
  return {
    write: (bytes, position) => use(writeAll(handle, bytes, position)),
    flush: () => use(handle.datasync()),
    async discard() {
      await handle.close();
      await rm(path, { force: true });
    },
  };
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

/** Why not, where it could not be done: `EXDEV` where they lie on two file systems. Nothing is left behind then. */
export async function cloneInto(source: string, path: string): Promise<string | undefined> {
  try {
    await copyFile(source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
    await chmod(path, 0o400);
    return undefined;
  } catch (thrown) {
    await rm(path, { force: true });
    return (thrown as NodeJS.ErrnoException).code ?? 'unknown';
  }
}
