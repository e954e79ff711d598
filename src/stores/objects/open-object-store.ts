// Owns: the content-addressed store: `sha256/ab/<hex>` for what is large, a table of the store for what is small.
// Refuses: to answer before the bytes are durable, and to hand out bytes that do not match their name.
import type { FileHandle } from 'node:fs/promises';
import { isDigest, sha256Hex } from '../../base/digest.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId, ObjectStore } from '../../contract/object-store.ts';
import type { SmallObjects } from '../small-objects.ts';
import { createObjectFiles, hashHandle } from './object-files.ts';
import { putStream } from './put-stream.ts';

export interface ObjectStoreOptions {
  /** `.haft/objects`; made when the first large object comes. */
  readonly folder: string;
  /** This process, as `processIdentity()` names it, so that a later one can tell what a dead one left behind. */
  readonly process: string;
  /** Where small objects go; without it they are files like all others. */
  readonly small?: SmallObjects;
}

/**
 * Measured with 64 puts of 1 KiB in flight: a file for each 6,000/s (a file's own sync and its folder's), in the table
 * 40,000/s (all share one), written and synced one by one 4,000/s.
 */
const SMALL = 16 * 1024;

export function openObjectStore({ folder, process, small }: ObjectStoreOptions): ObjectStore {
  const files = createObjectFiles(folder, process);
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

  return {
    put: async (bytes) => `sha256:${await put(bytes)}`,
    async putStream(chunks) {
      const { sha256, size } = await putStream(chunks, { put, stage: files.stage });
      return { id: `sha256:${sha256}`, size };
    },
    async get(id) {
      const sha256 = hexOf(id);
      const bytes = (await small?.get(sha256)) ?? (await withFile(sha256, (file) => file.readFile()));
      if (!bytes) throw missing(id);
      if (sha256Hex(bytes) !== sha256)
        throw fail('object.corrupt', `Cannot read ${id}: its bytes are not those that were stored`);
      return bytes;
    },
    async getRange(id, start, end) {
      const sha256 = hexOf(id);
      if (!(start >= 0 && end >= start))
        throw fail('input.range', `Cannot read ${id}: ${start} to ${end} is not a range`);
      const part =
        (await small?.get(sha256))?.subarray(start, end) ??
        (await withFile(sha256, (file) => readRange(file, start, end)));
      if (!part) throw missing(id);
      return part;
    },
    async size(id) {
      const sha256 = hexOf(id);
      const known = await small?.size(sha256);
      return known ?? (await withFile(sha256, async (file) => (await file.stat()).size));
    },
    async verify(id) {
      const sha256 = hexOf(id);
      const bytes = await small?.get(sha256);
      const actual = bytes ? sha256Hex(bytes) : await withFile(sha256, hashHandle);
      if (actual === undefined) return 'missing';
      return actual === sha256 ? 'ok' : 'corrupt';
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

function missing(id: ObjectId): Error {
  return fail('object.missing', `Cannot read ${id}: there is no such object`);
}
