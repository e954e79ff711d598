// Owns: what a folder is as an artifact: its folders and files in bytewise order, and the bytes that stand for all of it.
// Refuses: links, owners, times and modes beyond "can be run": nothing that differs between two equal trees.
import { canonicalJson } from './canonical-json.ts';
import { digestHead, isDigest } from './digest.ts';
import { rejection } from './rejection.ts';
import { normalizeRelPath, parentOf } from './rel-path.ts';

export interface TreeFile {
  readonly type: 'file';
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  readonly executable: boolean;
}

export interface TreeFolder {
  readonly type: 'dir';
  readonly path: string;
}

export type TreeEntry = TreeFile | TreeFolder;

/**
 * The manifest: canonical JSON behind the head of a `tree/v1` digest. Its plain SHA-256 is that digest, so a store of
 * objects can hold a tree by its name like any other bytes.
 */
export function encodeTree(entries: readonly TreeEntry[]): Uint8Array {
  const body = canonicalJson({ entries: [...entries].sort(byPath) });
  return Buffer.concat([Buffer.from(digestHead('tree/v1', body.length)), body]);
}

/** The entries; throws a `Rejection` for bytes that `encodeTree` does not write. */
export function decodeTree(bytes: Uint8Array): readonly TreeEntry[] {
  const entries = entriesIn(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  // What comes out the same again was not written in any other way.
  if (!entries || !isWhole(entries) || Buffer.compare(encodeTree(entries), bytes) !== 0)
    throw rejection('input.not_canonical', 'Cannot read the tree: it is not in its canonical form');
  return entries;
}

function entriesIn(text: string): readonly TreeEntry[] | undefined {
  try {
    const { entries } = JSON.parse(text.slice(text.indexOf('{')));
    return Array.isArray(entries) && entries.every((one) => typeof one?.path === 'string')
      ? entries
      : undefined;
  } catch {
    return undefined;
  }
}

/** Whether content begins like a manifest. A file that does would share its name with a tree. */
export function looksLikeTree(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes.subarray(0, HEAD.length), HEAD) === 0;
}

const HEAD = Buffer.from(digestHead('tree/v1', 0).slice(0, -2));

const byPath = (a: TreeEntry, b: TreeEntry) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));

/** Every path is normal and there once, and what lies in a folder comes with the folder. */
function isWhole(entries: readonly TreeEntry[]): boolean {
  const folders = new Set(['.']);
  const seen = new Set<string>();
  for (const entry of entries) {
    const normal = normalizeRelPath(entry.path);
    if (!normal.ok || normal.path !== entry.path || normal.path === '.') return false;
    if (seen.has(entry.path) || !folders.has(parentOf(entry.path)) || !isEntry(entry)) return false;
    seen.add(entry.path);
    if (entry.type === 'dir') folders.add(entry.path);
  }
  return true;
}

function isEntry(entry: TreeEntry): boolean {
  if (entry.type === 'dir') return Object.keys(entry).length === 2;
  const { type, size, sha256, executable } = entry;
  return (
    type === 'file' &&
    Object.keys(entry).length === 5 &&
    Number.isSafeInteger(size) &&
    size >= 0 &&
    isDigest(sha256) &&
    typeof executable === 'boolean'
  );
}
