// Owns: bringing an object's bytes to another place, verified, with blocks shared where the file system can.
// Refuses: to replace what is there, and to leave a copy whose bytes are not those of the name.
import { chmod, constants, copyFile, type FileHandle, rm, writeFile } from 'node:fs/promises';
import { type FileHash, stampOf } from './hash-file.ts';

export interface CopyTarget {
  readonly path: string;
  readonly mode: number;
}

/** Copied and hashed at the same time. False when the bytes are not those of the name; nothing is left behind then. */
export async function copyObject(
  object: { readonly file: FileHandle; readonly place: string; readonly sha256: string },
  target: CopyTarget,
  hash: FileHash,
): Promise<boolean> {
  const { file, place, sha256 } = object;
  // The very file that is open, where the system has a name for it.
  const source = process.platform === 'linux' ? `/proc/self/fd/${file.fd}` : place;
  const before = stampOf(await file.stat({ bigint: true }));
  const copying = copyFile(source, target.path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  const [copied, hashed] = await Promise.allSettled([copying, hash(file)]);
  if (copied.status === 'rejected') throw copied.reason;
  if (hashed.status === 'fulfilled' && hashed.value === sha256) {
    if (stampOf(await file.stat({ bigint: true })) === before) {
      await chmod(target.path, target.mode);
      return true;
    }
  }
  await rm(target.path, { force: true });
  if (hashed.status === 'rejected') throw hashed.reason;
  return false;
}

export async function writeCopy(bytes: Uint8Array, { path, mode }: CopyTarget): Promise<void> {
  await writeFile(path, bytes, { flag: 'wx', mode: 0o600 });
  await chmod(path, mode);
}
