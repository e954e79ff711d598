// Owns: objects as files: written beside their place, synced, moved there, read-only from then on.
// Refuses: a name that its bytes do not have, and a half-written file under any name of an object.
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createSha256 } from '../../base/digest.ts';
import { isAlive } from '../process-identity.ts';
import { toFailure } from '../store-failure.ts';
import { createFolderSync } from './folder-sync.ts';

export interface ObjectFiles {
  put(sha256: string, bytes: Uint8Array): Promise<void>;
  /** A file that becomes an object once its name is known. */
  stage(): Promise<StagedObject>;
  /** Answers undefined when there is no such object. The caller closes it. */
  open(sha256: string): Promise<FileHandle | undefined>;
}

export interface StagedObject {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives it its name; once this resolves, bytes and name are durable. */
  commit(sha256: string, size: number): Promise<void>;
  discard(): Promise<void>;
}

export function createObjectFiles(folder: string, process: string): ObjectFiles {
  const folders = createFolderSync(folder);
  const staging = join(folder, 'tmp');
  const placeOf = (sha256: string): string => join(folder, 'sha256', sha256.slice(0, 2), sha256);
  let staged = 0;
  let prepared: Promise<void> | undefined;

  /** Files that a dead process was writing belong to nobody. Looked for once, and only by who writes as well. */
  const prepare = async (): Promise<void> => {
    await folders.ensure(staging);
    for (const name of await readdir(staging)) {
      if (!isAlive(name.split('~')[0]!)) await rm(join(staging, name), { force: true });
    }
  };

  const holds = async (sha256: string, size: number): Promise<boolean> => {
    const found = await stat(placeOf(sha256)).catch(() => undefined);
    // Re-reading costs a fraction of a sync, and mends an object that was damaged while its bytes are at hand.
    return found?.size === size && (await hashFile(placeOf(sha256))) === sha256;
  };

  const moveTo = async (from: string, place: string): Promise<void> => {
    await folders.ensure(dirname(place));
    try {
      await rename(from, place);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
      folders.forget();
      await folders.ensure(dirname(place));
      await rename(from, place);
    }
  };

  const stage = async (): Promise<StagedObject> => {
    prepared ??= prepare();
    await prepared.catch((thrown) => {
      prepared = undefined;
      throw thrown;
    });
    const path = join(staging, `${process}~${staged++}-${Math.random().toString(36).slice(2)}`);
    const handle = await open(path, 'wx', 0o400);
    const discard = async (): Promise<void> => {
      await handle.close();
      await rm(path, { force: true });
    };
    return {
      write: guarded((bytes) => handle.writeFile(bytes)),
      commit: guarded(async (sha256, size) => {
        const place = placeOf(sha256);
        if (await holds(sha256, size)) await discard();
        else {
          await handle.sync();
          await handle.close();
          await moveTo(path, place);
        }
        // Also for an object that was there: whoever stored it may not have got this far yet.
        await folders.sync(dirname(place));
      }),
      discard,
    };
  };

  return {
    stage: guarded(stage),
    put: guarded(async (sha256, bytes) => {
      if (await holds(sha256, bytes.length)) return folders.sync(dirname(placeOf(sha256)));
      const object = await stage();
      try {
        await object.write(bytes);
        await object.commit(sha256, bytes.length);
      } catch (thrown) {
        await object.discard().catch(() => {});
        throw thrown;
      }
    }),
    open: guarded(async (sha256) => {
      try {
        return await open(placeOf(sha256), 'r');
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw thrown;
      }
    }),
  };
}

function guarded<A extends unknown[], T>(work: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  return async (...args) => {
    try {
      return await work(...args);
    } catch (thrown) {
      throw toFailure(thrown, 'Cannot use the object store');
    }
  };
}

const PIECE = 1024 * 1024;

/** The sha256 of an open file, read in pieces. */
export async function hashHandle(handle: FileHandle): Promise<string> {
  const hash = createSha256();
  const piece = Buffer.allocUnsafe(Math.min(PIECE, Math.max(1, (await handle.stat()).size)));
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return hash.hex();
    hash.update(piece.subarray(0, bytesRead));
    at += bytesRead;
  }
}

async function hashFile(path: string): Promise<string> {
  const handle = await open(path, 'r');
  try {
    return await hashHandle(handle);
  } finally {
    await handle.close();
  }
}
