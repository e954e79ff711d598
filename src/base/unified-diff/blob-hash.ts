// Owns: whether bytes are the content that the "index" line of a git diff states.
// Refuses: hashes of less than seven digits, which prove nothing.
import { createHash } from 'node:crypto';

/** Undefined where no hash is stated. `hash` may be abbreviated, and of either of git's two kinds. */
export function isBlob(bytes: Uint8Array, hash: string | undefined): boolean | undefined {
  if (hash === undefined || !/^[0-9a-f]{7,64}$/.test(hash)) return undefined;
  return ['sha1', 'sha256'].some((kind) =>
    createHash(kind).update(`blob ${bytes.length}\0`).update(bytes).digest('hex').startsWith(hash),
  );
}
