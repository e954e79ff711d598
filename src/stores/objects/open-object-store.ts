// Owns: the content-addressed store: `sha256/ab/<hex>` for what is large, a table of the store for what is small.
// Refuses: to answer before the bytes are durable, and to hand out bytes that do not match their name.
import { chmod, constants, copyFile, type FileHandle, rm, writeFile } from 'node:fs/promises';
import { createSha256, isDigest, sha256Hex } from '../../base/digest.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId, ObjectStore, ObjectUse } from '../../contract/object-store.ts';
import type { ObjectUses, SmallObjects } from '../object-rows.ts';
import { toFailure } from '../store-failure.ts';
import { createFileHash, type FileHash, hashFile, hashShortFile, stampOf } from './hash-file.ts';
import { createObjectFiles, type ObjectFiles, type StagedObject } from './object-files.ts';
import { putFile } from './put-file.ts';

export interface ObjectStoreOptions {
  /** `.haft/objects`; made when the first large object comes. */
  readonly folder: string;
  /** This process, as `processIdentity()` names it, so that a later one can tell what a dead one left behind. */
  readonly process: string;
  /** Where small objects go; without it they are files like all others. */
  readonly small?: SmallObjects;
  /** Remembers when files were used; without it nothing is ever discarded. */
  readonly uses?: ObjectUses;
}

/**
 * Measured with 64 puts of 1 KiB in flight: a file for each 6,000/s (a file's own sync and its folder's), in the table
 * 40,000/s (all share one), written and synced one by one 4,000/s.
 */
const SMALL = 16 * 1024;

export function openObjectStore({ folder, process, small, uses }: ObjectStoreOptions): ObjectStore {
  const hash = createFileHash();
  const touchFile = async (sha256: string): Promise<void> => uses?.touch([sha256]);
  const files = createObjectFiles({ folder, process, hash, touch: touchFile });
  const underWay = new Map<string, Promise<void>>();

  /** Equal bytes that come while they are being stored wait for those that came first. */
  const put = async (bytes: Uint8Array): Promise<string> => {
    const sha256 = sha256Hex(bytes);
    const tier = small && bytes.length <= SMALL ? small : files;
    const stored = underWay.get(sha256) ?? tier.put(sha256, bytes).finally(() => underWay.delete(sha256));
    underWay.set(sha256, stored);
    await stored;
    return sha256;
  };

  const withFile = async <T>(
    sha256: string,
    use: (file: FileHandle) => Promise<T>,
  ): Promise<T | undefined> => {
    const file = await files.open(sha256);
    if (!file) return undefined;
    try {
      return await use(file);
    } finally {
      await file.close();
    }
  };

  /** The bytes of a small object, never others. */
  const smallBytes = async (id: ObjectId): Promise<Uint8Array | undefined> => {
    const bytes = await small?.get(hexOf(id));
    if (bytes && sha256Hex(bytes) !== hexOf(id)) throw corrupt(id);
    return bytes;
  };

  return {
    put: async (bytes) => `sha256:${await put(bytes)}`,
    async putStream(chunks) {
      const { sha256, size } = await putStream(chunks, { put, stage: files.stage });
      return { id: `sha256:${sha256}`, size };
    },
    async putFile(source, signal) {
      const { sha256, size } = await putFile(source, { ...files, put }, signal);
      return { id: `sha256:${sha256}`, size };
    },
    async get(id) {
      const sha256 = hexOf(id);
      const known = await smallBytes(id);
      if (known) return known;
      const bytes = await withFile(sha256, (file) => file.readFile());
      if (!bytes) throw missing(id);
      if (sha256Hex(bytes) !== sha256) throw corrupt(id);
      return bytes;
    },
    async getRange(id, start, end) {
      const sha256 = hexOf(id);
      if (!(start >= 0 && end >= start))
        throw fail('input.range', `Cannot read ${id}: ${start} to ${end} is not a range`);
      const known = await smallBytes(id);
      if (known) return known.subarray(start, end);
      const part = await withFile(sha256, async (file) => {
        if ((await hash(file)) !== sha256) throw corrupt(id);
        return readRange(file, start, end);
      });
      if (!part) throw missing(id);
      return part;
    },
    async copyTo(id, path, mode) {
      const sha256 = hexOf(id);
      const target: CopyTarget = { path, mode };
      const known = await smallBytes(id);
      try {
        if (known) return await writeCopy(known, target);
        const place = files.placeOf(sha256);
        const copied = await withFile(sha256, (file) => copyObject({ file, place, sha256 }, target, hash));
        if (copied === undefined) throw missing(id);
        if (!copied) throw corrupt(id);
      } catch (thrown) {
        const isThere = (thrown as NodeJS.ErrnoException).code === 'EEXIST';
        throw isThere
          ? fail('path.exists', `Cannot copy ${id}: something is already there`)
          : toFailure(thrown, `Cannot copy ${id}`);
      }
    },
    async size(id) {
      const sha256 = hexOf(id);
      const known = await small?.size(sha256);
      return known ?? (await withFile(sha256, async (file) => (await file.stat()).size));
    },
    async verify(id) {
      const sha256 = hexOf(id);
      const bytes = await small?.get(sha256);
      const actual = bytes
        ? sha256Hex(bytes)
        : (hashShortFile(files.placeOf(sha256)) ?? (await withFile(sha256, hashFile)));
      if (actual === undefined) return 'missing';
      return actual === sha256 ? 'ok' : 'corrupt';
    },
    async touch(ids) {
      const sha256s = ids.map(hexOf);
      await Promise.all([small?.touch(sha256s), uses?.touch(sha256s)]);
    },
    async *list(): AsyncGenerator<ObjectUse> {
      for await (const some of small?.all() ?? []) {
        for (const { sha256, size, usedTs } of some) yield { id: `sha256:${sha256}`, size, usedTs };
      }
      const usedAt = await uses?.all();
      for await (const { sha256, size, storedTs } of files.list())
        yield { id: `sha256:${sha256}`, size, usedTs: Math.max(storedTs, usedAt?.get(sha256) ?? 0) };
    },
    async discard(ids, unusedSince) {
      const gone = await discardObjects(ids.map(hexOf), unusedSince, { files, small, uses });
      return gone.map((sha256): ObjectId => `sha256:${sha256}`);
    },
  };
}

async function readRange(file: FileHandle, start: number, end: number): Promise<Uint8Array> {
  const { size } = await file.stat();
  const wanted = Buffer.alloc(Math.max(0, Math.min(end, size) - start));
  let got = 0;
  while (got < wanted.length) {
    const { bytesRead } = await file.read(wanted, got, wanted.length - got, start + got);
    if (bytesRead === 0) break;
    got += bytesRead;
  }
  return wanted.subarray(0, got);
}

/** Checked before it becomes part of a path. */
function hexOf(id: ObjectId): string {
  const hex = id.startsWith('sha256:') ? id.slice('sha256:'.length) : '';
  if (!isDigest(hex))
    throw fail('object.missing', 'Cannot find the object: an id is "sha256:" and 64 hex digits');
  return hex;
}

function corrupt(id: ObjectId): Error {
  return fail('object.corrupt', `Cannot read ${id}: its bytes are not those that were stored`);
}

function missing(id: ObjectId): Error {
  return fail('object.missing', `Cannot read ${id}: there is no such object`);
}

interface CopyTarget {
  readonly path: string;
  readonly mode: number;
}

/** Copied and hashed at the same time. False when the bytes are not those of the name; nothing is left behind then. */
async function copyObject(
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

async function writeCopy(bytes: Uint8Array, { path, mode }: CopyTarget): Promise<void> {
  await writeFile(path, bytes, { flag: 'wx', mode: 0o600 });
  await chmod(path, mode);
}

interface Tiers {
  readonly files: Pick<ObjectFiles, 'bury'>;
  readonly small: SmallObjects | undefined;
  readonly uses: ObjectUses | undefined;
}

/** Objects of one transaction. */
const BATCH = 64;

/** Answers those that are gone. */
async function discardObjects(
  sha256s: readonly string[],
  unusedSince: number,
  { files, small, uses }: Tiers,
): Promise<readonly string[]> {
  const gone = new Set<string>();
  for (let at = 0; at < sha256s.length; at += BATCH) {
    const batch = sha256s.slice(at, at + BATCH);
    for (const sha256 of (await small?.release(batch, unusedSince)) ?? []) gone.add(sha256);
    const graves: string[] = [];
    const bury = (sha256: string): boolean => {
      const grave = files.bury(sha256);
      if (grave !== undefined) graves.push(grave);
      return grave !== undefined;
    };
    for (const sha256 of (await uses?.release(batch, unusedSince, bury)) ?? []) gone.add(sha256);
    for (const grave of graves) await rm(grave, { force: true });
  }
  return [...gone];
}

interface StreamParts {
  /** For what turns out to fit into one piece. */
  put(bytes: Uint8Array): Promise<string>;
  stage: ObjectFiles['stage'];
}

/** Hashing pieces of 64 KiB takes twice as long as pieces of 1 MiB. */
const PIECE = 1024 * 1024;

/** Answers the sha256 and the size. */
export async function putStream(
  chunks: AsyncIterable<Uint8Array>,
  { put, stage }: StreamParts,
): Promise<{ readonly sha256: string; readonly size: number }> {
  const hash = createSha256();
  let piece: Buffer = Buffer.allocUnsafeSlow(PIECE);
  let other: Buffer | undefined;
  let used = 0;
  let size = 0;
  let written = 0;
  let staged: StagedObject | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** Written and hashed at the same time; meanwhile the other piece is filled. */
  const writeOut = async (object: StagedObject): Promise<void> => {
    const full = piece.subarray(0, used);
    await writing;
    writing = object.write(full, written);
    writing.catch(() => {});
    hash.update(full);
    written += used;
    used = 0;
    [piece, other] = [other ?? Buffer.allocUnsafeSlow(PIECE), piece];
  };

  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      for (let at = 0; at < chunk.length; ) {
        if (used === PIECE) {
          staged ??= await stage();
          await writeOut(staged);
        }
        const part = chunk.subarray(at, at + PIECE - used);
        piece.set(part, used);
        used += part.length;
        at += part.length;
      }
    }
    if (!staged) return { sha256: await put(piece.subarray(0, used)), size };
    await writeOut(staged);
    await writing;
    const sha256 = hash.hex();
    await staged.commit(sha256, size);
    return { sha256, size };
  } catch (thrown) {
    await writing.catch(() => {});
    await staged?.discard().catch(() => {});
    throw thrown;
  }
}
