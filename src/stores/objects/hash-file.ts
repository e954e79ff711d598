// Owns: the sha256 of an open file, computed once for as long as nobody touches the file.
// Refuses: to believe a file that was written, replaced or renamed since: its change time cannot be set back.
import { type BigIntStats, closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { createSha256, sha256Hex } from '../../base/digest.ts';

export type FileHash = (handle: FileHandle) => Promise<string>;

const PIECE = 1024 * 1024;
const REMEMBERED = 10_000;
/** A file may change twice within a tick of the clock; one that changed only just now is not remembered. */
const SETTLED_MS = 1000n;

/** Hashing two pieces at a time: while one is hashed the next is read. */
export async function hashFile(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat();
  const hash = createSha256();
  const pieces = [0, 1].map(() => Buffer.allocUnsafeSlow(Math.min(PIECE, Math.max(1, size))));
  let at = 0;
  let reading = handle.read(pieces[0]!, 0, pieces[0]!.length, at);
  for (let turn = 0; ; turn++) {
    const { bytesRead } = await reading;
    if (bytesRead === 0) return hash.hex();
    at += bytesRead;
    const next = pieces[(turn + 1) % 2]!;
    reading = handle.read(next, 0, next.length, at);
    hash.update(pieces[turn % 2]!.subarray(0, bytesRead));
  }
}

/** Up to here a file is read before the thread pool would have opened it: measured, 64 KiB in 80 µs instead of 200. */
const SHORT = 256 * 1024;

/** At once, where the file is short and can be opened; undefined otherwise, and then `hashFile` says the rest. */
export function hashShortFile(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const { size } = fstatSync(file);
    if (size > SHORT) return undefined;
    // One byte more than it has: a file that grows meanwhile is another.
    const bytes = Buffer.allocUnsafe(size + 1);
    return readSync(file, bytes, 0, bytes.length, 0) === size
      ? sha256Hex(bytes.subarray(0, size))
      : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}

/** Remembers the hashes of files that stand still. */
export function createFileHash(): FileHash {
  const known = new Map<string, string>();
  return async (handle) => {
    const before = await handle.stat({ bigint: true });
    const key = stampOf(before);
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered;
    const sha256 = await hashFile(handle);
    const after = await handle.stat({ bigint: true });
    if (stampOf(after) === key && BigInt(Date.now()) - after.ctimeMs > SETTLED_MS) {
      known.set(key, sha256);
      if (known.size > REMEMBERED) known.delete(known.keys().next().value!);
    }
    return sha256;
  };
}

/** What changes with the file, whoever changes it. */
export const stampOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
