// Owns: objects as files: written beside their place, synced, moved there, read-only from then on.
// Refuses: a name that its bytes do not have, and a half-written file under any name of an object.
import { renameSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { chmod, constants, copyFile, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fail } from '../../contract/errors.ts';
import { isAlive } from '../process-identity.ts';
import { syncFolder } from '../state-files.ts';
import { toFailure } from '../store-failure.ts';
import type { FileHash } from './hash-file.ts';

export interface ObjectFiles {
  put(sha256: string, bytes: Uint8Array): Promise<void>;
  /** A file that becomes an object once its name is known. */
  stage(): Promise<StagedObject>;
  /** The same, with the content of another file already in it; undefined where the file system cannot share blocks. */
  stageClone(path: string): Promise<StagedClone | undefined>;
  /** Answers undefined when there is no such object. The caller closes it. */
  open(sha256: string): Promise<FileHandle | undefined>;
  readonly placeOf: (sha256: string) => string;
  list(): AsyncIterable<{ readonly sha256: string; readonly size: number; readonly storedTs: number }>;
  /** Takes an object from its place at once; answers what is left to remove, or undefined when it was not there. */
  bury(sha256: string): string | undefined;
}

export interface StagedObject extends StagedFile {
  /** Gives it its name; once this resolves, bytes and name are durable. */
  commit(sha256: string, size: number): Promise<void>;
}

export interface StagedClone extends StagedObject {
  readonly handle: FileHandle;
}

interface ObjectFilesParts {
  readonly folder: string;
  readonly process: string;
  readonly hash: FileHash;
  /** Told before anybody relies on an object that may have been there already. */
  touch(sha256: string): Promise<void>;
}

export function createObjectFiles({ folder, process, hash, touch }: ObjectFilesParts): ObjectFiles {
  const folders = createFolderSync(folder);
  const staging = join(folder, 'tmp');
  const placeOf = (sha256: string): string => join(folder, 'sha256', sha256.slice(0, 2), sha256);
  let staged = 0;
  let prepared: Promise<void> | undefined;
  let clones = true;

  /** Files that a dead process was writing belong to nobody. Looked for once, and only by who writes as well. */
  const prepare = async (): Promise<void> => {
    await folders.ensure(staging);
    for (const name of await readdir(staging)) {
      if (!isAlive(name.split('~')[0]!)) await rm(join(staging, name), { force: true });
    }
  };

  /** Touched first: what is then found there stays there. */
  const holds = async (sha256: string, size: number): Promise<boolean> => {
    await touch(sha256);
    const found = await stat(placeOf(sha256)).catch(() => undefined);
    if (found?.size !== size) return false;
    // Re-reading costs a fraction of a sync, and mends an object that was damaged while its bytes are at hand.
    const handle = await open(placeOf(sha256), 'r').catch(() => undefined);
    return handle !== undefined && (await closing(handle, hash)) === sha256;
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

  const tempPath = async (): Promise<string> => {
    prepared ??= prepare();
    await prepared.catch((thrown) => {
      prepared = undefined;
      throw thrown;
    });
    return join(staging, `${process}~${staged++}-${Math.random().toString(36).slice(2)}`);
  };

  const asObject = (handle: FileHandle, path: string): StagedObject => {
    const file = stagedFile(handle, path);
    return {
      ...file,
      commit: guarded(async (sha256, size) => {
        const place = placeOf(sha256);
        if (await holds(sha256, size)) await file.discard();
        else {
          await handle.sync();
          await handle.close();
          await moveTo(path, place);
        }
        // Also for an object that was there: whoever stored it may not have got this far yet.
        await folders.sync(dirname(place));
      }),
    };
  };

  const stage = async (): Promise<StagedObject> => {
    const path = await tempPath();
    return asObject(await open(path, 'wx', 0o400), path);
  };

  return {
    placeOf,
    stage: guarded(stage),
    stageClone: guarded(async (source) => {
      if (!clones) return undefined;
      const path = await tempPath();
      const obstacle = await cloneInto(source, path);
      // Another source may lie nearer; a file system that cannot do it never will.
      clones = obstacle === undefined || obstacle === 'EXDEV';
      if (obstacle !== undefined) return undefined;
      const handle = await open(path, 'r');
      return { ...asObject(handle, path), handle };
    }),
    put: guarded(async (sha256, bytes) => {
      if (await holds(sha256, bytes.length)) return folders.sync(dirname(placeOf(sha256)));
      const object = await stage();
      try {
        await object.write(bytes, 0);
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
    async *list() {
      for (const prefix of await namesIn(join(folder, 'sha256'))) {
        for (const sha256 of await namesIn(join(folder, 'sha256', prefix))) {
          const found = await stat(placeOf(sha256)).catch(() => undefined);
          if (found?.isFile()) yield { sha256, size: found.size, storedTs: found.mtimeMs };
        }
      }
    },
    bury(sha256) {
      const grave = join(staging, `${process}~gone-${sha256}`);
      try {
        renameSync(placeOf(sha256), grave);
        return grave;
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw toFailure(thrown, 'Cannot use the object store');
      }
    },
  };
}

async function closing<T>(handle: FileHandle, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw toFailure(thrown, 'Cannot use the object store');
  }
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

interface StagedFile {
  /** The bytes must stay as they are until this resolves. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Starts to bring to the disk what was written so far, so that the end need not wait for all of it. */
  flush(): Promise<void>;
  discard(): Promise<void>;
}

function stagedFile(handle: FileHandle, path: string): StagedFile {
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
async function cloneInto(source: string, path: string): Promise<string | undefined> {
  try {
    await copyFile(source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
    await chmod(path, 0o400);
    return undefined;
  } catch (thrown) {
    await rm(path, { force: true });
    return (thrown as NodeJS.ErrnoException).code ?? 'unknown';
  }
}

interface FolderSync {
  /** Resolves once every name that was in the folder at the call is on the disk. */
  sync(folder: string): Promise<void>;
  /** Makes sure that a folder is there, durably, with all those above it up to the root. */
  ensure(folder: string): Promise<void>;
  /** Somebody removed folders: look again. */
  forget(): void;
}

function createFolderSync(root: string): FolderSync {
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
