// Owns: writing new content beside its destination, whole and on disk, before anybody can see it.
// Refuses: to touch the destination.
import { closeSync, constants, fsync, open, openSync, write, writeSync } from 'node:fs';
import { copyFile, symlink, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createSha256 } from '../../../base/digest.ts';
import type { EntryState } from '../../../contract/capability.ts';
import type { ObjectStore } from '../../../contract/object-store.ts';
import { openLocated } from '../beneath.ts';
import { osFailure, raced } from '../path-failures.ts';
import { type Located, O_NOFOLLOW, type Place, release, sameThing } from '../root.ts';
import { give, giveLink, type Losses } from './ownership.ts';
import { type Folders, locateExactly } from './pins.ts';
import { pieces } from './preimage.ts';
import type { Content, Put } from './view.ts';

/** A file or link on its way into place. */
export interface Staged {
  readonly folder: Place;
  readonly name: string;
}

export interface Staging {
  readonly folders: Folders;
  readonly objects: ObjectStore;
  readonly signal: AbortSignal;
  readonly verb: string;
  readonly losses: Losses;
}

/** Answers the state of a copy, which nobody knew before. Leaves nothing behind when it fails. */
export async function stage(put: Put, name: string, staging: Staging): Promise<EntryState | undefined> {
  const path = `${staging.folders.open(put.stageIn).path}/${name}`;
  try {
    return await MAKERS[kindOf(put.content)](put, path, staging);
  } catch (thrown) {
    await unlink(path).catch(() => undefined);
    throw osFailure(thrown, { ...put.place, verb: staging.verb });
  }
}

type Kind = 'bytes' | 'object' | 'copyOf' | 'target';
type Of<K extends Kind> = Extract<Content, { readonly [key in K]: unknown }>;

function kindOf(content: Content): Kind {
  return (['bytes', 'object', 'copyOf', 'target'] as const).find((kind) => kind in content)!;
}

const MAKERS: {
  readonly [K in Kind]: (put: Put, path: string, staging: Staging) => Promise<EntryState | undefined>;
} = {
  async target(put, path, { losses }) {
    await symlink((put.content as Of<'target'>).target, path);
    if (put.owner) giveLink(path, put.owner, put.place, losses);
    return undefined;
  },
  async bytes(put, path, { losses }) {
    await writeFile(put, path, (put.content as Of<'bytes'>).bytes, losses);
    return undefined;
  },
  async object(put, path, { objects, losses }) {
    await writeFile(put, path, await objects.get((put.content as Of<'object'>).object), losses);
    return undefined;
  },
  copyOf: copy,
};

// Plain descriptors: a hop through the thread pool only for what can take long.
const openFile = promisify(open);
const writeSome = promisify(write);
const sync = promisify(fsync);

async function writeFile(put: Put, path: string, bytes: Uint8Array, losses: Losses): Promise<void> {
  // Set-user-id comes with the owner it is for, when all is written.
  const fd = openSync(path, CREATE, put.mode & 0o777);
  try {
    await writeAll(fd, bytes);
    await settle(fd, put, losses);
  } finally {
    closeSync(fd);
  }
}

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW;

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done +=
      bytes.length <= SMALL
        ? writeSync(fd, bytes, done)
        : (await writeSome(fd, bytes, done, Math.min(bytes.length - done, CHUNK))).bytesWritten;
  }
}

/** Up to here the page cache takes the bytes sooner than a thread of the pool would wake up. */
const SMALL = 64 * 1024;
const CHUNK = 64 * 1024 * 1024;

/** The copy is hashed, not the source: that one may change meanwhile. */
async function copy(put: Put, path: string, { signal, verb, losses }: Staging): Promise<EntryState> {
  const { copyOf, stat } = put.content as Of<'copyOf'>;
  const source = locateExactly(copyOf, verb);
  if (!source) throw raced({ ...copyOf, verb });
  try {
    if (!source.stat.isFile() || !sameThing(stat, source.stat)) throw raced({ ...copyOf, verb });
    // The system's copy has the bits of the source before it has its owner: with set-user-id, that would be ours.
    if (source.stat.mode & 0o6000n) await copyPieces(source, path, signal);
    else await copyFile(source.path, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  } finally {
    release(source);
  }
  // Reading is enough to sync it, and all that the copy of a read-only file allows.
  const fd = await openFile(path, constants.O_RDONLY | O_NOFOLLOW);
  try {
    await settle(fd, put, losses);
    const hash = createSha256();
    let size = 0;
    for await (const piece of pieces(fd, signal)) {
      hash.update(piece);
      size += piece.length;
    }
    return { type: 'file', object: `sha256:${hash.hex()}`, size, mode: put.mode };
  } finally {
    closeSync(fd);
  }
}

async function copyPieces(source: Located, path: string, signal: AbortSignal): Promise<void> {
  const from = openLocated(source, constants.O_RDONLY, 'copy');
  try {
    const to = openSync(path, CREATE, 0o600);
    try {
      for await (const piece of pieces(from, signal)) await writeAll(to, piece);
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}

async function settle(fd: number, put: Put, losses: Losses): Promise<void> {
  give(fd, put, put.place, losses);
  await sync(fd);
}
