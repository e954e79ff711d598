// Owns: the Merkle tree of RFC 6962: roots, proofs that a leaf is in a tree and that one tree continues another.
// Refuses: to know what the leaves are; whoever appends one hashes it with `leafHash`.
import { sha256Bytes } from './digest.ts';

export type MerkleHash = Uint8Array;

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);
const SIZE = 32;

/** The tree over no leaves. */
export const EMPTY_ROOT: () => MerkleHash = () => sha256Bytes(new Uint8Array());

export function leafHash(data: Uint8Array): MerkleHash {
  return sha256Bytes(Buffer.concat([LEAF, data]));
}

function nodeHash(left: MerkleHash, right: MerkleHash): MerkleHash {
  return sha256Bytes(Buffer.concat([NODE, left, right]));
}

export interface MerkleTree {
  readonly size: number;
  /** Adds a leaf, given as `leafHash` of its data. */
  append(leaf: MerkleHash): void;
  /** Of the first `size` leaves. */
  root(size?: number): MerkleHash;
  /** That the leaf `index` is in the tree of the first `size` leaves. */
  proveInclusion(index: number, size?: number): readonly MerkleHash[];
  /** That the tree of the first `size` leaves begins with that of the first `earlier` ones. */
  proveConsistency(earlier: number, size?: number): readonly MerkleHash[];
}

/** Keeps the root of every complete subtree: 64 bytes a leaf, so that a proof costs a few hashes. */
export function createMerkleTree(): MerkleTree {
  /** `levels[k].at(i)` is the root over the leaves from `i * 2^k` on, 2^k of them. */
  const levels: HashList[] = [];
  let count = 0;

  const append = (leaf: MerkleHash): void => {
    count++;
    let hash = leaf;
    for (let level = 0; ; level++) {
      levels[level] ??= createHashList();
      const row = levels[level]!;
      row.push(hash);
      if (row.length() % 2 !== 0) return;
      hash = nodeHash(row.at(row.length() - 2), hash);
    }
  };

  /** Over the leaves from `start` up to `end`. Ranges of the RFC begin where a subtree begins. */
  const rangeRoot = (start: number, end: number): MerkleHash => {
    const length = end - start;
    if (length === 0) return EMPTY_ROOT();
    const level = Math.log2(length);
    if (Number.isInteger(level)) return levels[level]!.at(start / length);
    const split = start + splitOf(length);
    return nodeHash(rangeRoot(start, split), rangeRoot(split, end));
  };

  /** The path from a leaf up to the root over the range, nearest first. */
  const path = (index: number, start: number, end: number): MerkleHash[] => {
    if (end - start === 1) return [];
    const split = start + splitOf(end - start);
    return index < split
      ? [...path(index, start, split), rangeRoot(split, end)]
      : [...path(index, split, end), rangeRoot(start, split)];
  };

  /** PROOF of the RFC: `whole` while the earlier tree is a subtree that the verifier has the root of. */
  const subproof = (earlier: number, start: number, end: number, whole: boolean): MerkleHash[] => {
    if (start + earlier === end) return whole ? [] : [rangeRoot(start, end)];
    const length = splitOf(end - start);
    const split = start + length;
    return earlier <= length
      ? [...subproof(earlier, start, split, whole), rangeRoot(split, end)]
      : [...subproof(earlier - length, split, end, false), rangeRoot(start, split)];
  };

  const within = (size: number, most: number): void => {
    if (!Number.isSafeInteger(size) || size < 0 || size > most)
      throw new RangeError(`Cannot prove anything about ${size} of ${most} leaves`);
  };

  return {
    get size() {
      return count;
    },
    append,
    root(size = count) {
      within(size, count);
      return rangeRoot(0, size);
    },
    proveInclusion(index, size = count) {
      within(size, count);
      within(index, size - 1);
      return path(index, 0, size);
    },
    proveConsistency(earlier, size = count) {
      within(size, count);
      within(earlier, size);
      return earlier === 0 ? [] : subproof(earlier, 0, size, true);
    },
  };
}

interface HashList {
  push(hash: MerkleHash): void;
  at(index: number): MerkleHash;
  length(): number;
}

/** In one piece of memory: a million small arrays would take five times as much. */
function createHashList(): HashList {
  let bytes = new Uint8Array(8 * SIZE);
  let used = 0;
  return {
    push(hash) {
      if (used === bytes.length) {
        const larger = new Uint8Array(bytes.length * 2);
        larger.set(bytes);
        bytes = larger;
      }
      bytes.set(hash, used);
      used += SIZE;
    },
    at: (index) => bytes.slice(index * SIZE, (index + 1) * SIZE),
    length: () => used / SIZE,
  };
}

/** The largest power of two below a length of at least 2. */
function splitOf(length: number): number {
  return 2 ** Math.floor(Math.log2(length - 1));
}

export interface Inclusion {
  readonly leaf: MerkleHash;
  readonly index: number;
  readonly size: number;
  readonly proof: readonly MerkleHash[];
  readonly root: MerkleHash;
}

/** RFC 9162, section 2.1.3.2. */
export function verifyInclusion({ leaf, index, size, proof, root }: Inclusion): boolean {
  if (!isCount(size) || !isCount(index) || index >= size || !proof.every(isHash)) return false;
  let hash = leaf;
  const atTop = climb(index, size - 1, proof, (sibling, isLeft) => {
    hash = isLeft ? nodeHash(sibling, hash) : nodeHash(hash, sibling);
  });
  return atTop && equal(hash, root);
}

/** Up from a node to the root, past each hash of a proof. Answers whether that is as many as there are levels. */
function climb(
  start: number,
  end: number,
  proof: readonly MerkleHash[],
  join: (sibling: MerkleHash, isLeft: boolean) => void,
): boolean {
  let [node, last] = [start, end];
  for (const sibling of proof) {
    if (last === 0) return false;
    const isLeft = node % 2 === 1 || node === last;
    join(sibling, isLeft);
    while (isLeft && node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    [node, last] = [half(node), half(last)];
  }
  return last === 0;
}

export interface Consistency {
  readonly earlier: number;
  readonly earlierRoot: MerkleHash;
  readonly size: number;
  readonly root: MerkleHash;
  readonly proof: readonly MerkleHash[];
}

/** RFC 9162, section 2.1.4.2. */
export function verifyConsistency({ earlier, earlierRoot, size, root, proof }: Consistency): boolean {
  if (!isCount(earlier) || !isCount(size) || earlier > size || !proof.every(isHash)) return false;
  if (earlier === size) return proof.length === 0 && equal(earlierRoot, root);
  if (earlier === 0) return proof.length === 0 && equal(earlierRoot, EMPTY_ROOT());
  const path = Number.isInteger(Math.log2(earlier)) ? [earlierRoot, ...proof] : [...proof];
  const first = path.shift();
  if (!first) return false;
  let node = earlier - 1;
  let last = size - 1;
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  let before = first;
  let after = first;
  const atTop = climb(node, last, path, (sibling, isLeft) => {
    if (isLeft) before = nodeHash(sibling, before);
    after = isLeft ? nodeHash(sibling, after) : nodeHash(after, sibling);
  });
  return atTop && equal(before, earlierRoot) && equal(after, root);
}

/** Shifting would cut numbers off at 32 bits. */
const half = (value: number): number => Math.floor(value / 2);
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const isHash = (value: Uint8Array): boolean => value.length === SIZE;
const equal = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
