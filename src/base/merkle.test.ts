import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import {
  createMerkleTree,
  EMPTY_ROOT,
  leafHash,
  type MerkleHash,
  verifyConsistency,
  verifyInclusion,
} from './merkle.ts';

const sha = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

/** MTH of the RFC, word for word. */
function mth(leaves: readonly Uint8Array[]): MerkleHash {
  if (leaves.length === 0) return sha();
  if (leaves.length === 1) return sha(Buffer.from([0]), leaves[0]!);
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return sha(Buffer.from([1]), mth(leaves.slice(0, k)), mth(leaves.slice(k)));
}

const leavesOf = (count: number) => Array.from({ length: count }, (_, i) => Buffer.from(`leaf ${i}`));
const treeOf = (leaves: readonly Uint8Array[]) => {
  const tree = createMerkleTree();
  for (const leaf of leaves) tree.append(leafHash(leaf));
  return tree;
};

/** The inputs and roots that implementations of RFC 6962 test themselves with. */
const INPUTS = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

describe('createMerkleTree', () => {
  it('has the roots that other implementations have', () => {
    const tree = createMerkleTree();
    assert.equal(hex(tree.root()), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    INPUTS.forEach((input, at) => {
      tree.append(leafHash(Buffer.from(input, 'hex')));
      assert.equal(hex(tree.root()), ROOTS[at]);
    });
    ROOTS.forEach((root, at) => void assert.equal(hex(tree.root(at + 1)), root));
  });

  it('has, at every size, the root that the definition gives', () => {
    const leaves = leavesOf(70);
    const tree = treeOf(leaves);
    for (let size = 0; size <= leaves.length; size++)
      assert.deepEqual(Buffer.from(tree.root(size)), Buffer.from(mth(leaves.slice(0, size))));
  });

  it('refuses to prove what it does not have', () => {
    const tree = treeOf(leavesOf(3));
    for (const ask of [
      () => tree.root(4),
      () => tree.proveInclusion(3),
      () => tree.proveInclusion(2, 2),
      () => tree.proveInclusion(-1),
      () => tree.proveConsistency(4),
      () => tree.proveConsistency(3, 2),
      () => tree.root(1.5),
    ])
      assert.throws(ask, RangeError);
  });
});

const sizes = fc.integer({ min: 1, max: 200 });

describe('verifyInclusion', () => {
  it('holds for every leaf of every tree, and for no other leaf, place, size or root', () => {
    fc.assert(
      fc.property(sizes, fc.nat(), fc.nat(), (size, at, other) => {
        const leaves = leavesOf(size);
        const tree = treeOf(leaves);
        const index = at % size;
        const claim = {
          leaf: leafHash(leaves[index]!),
          index,
          size,
          proof: tree.proveInclusion(index),
          root: tree.root(),
        };
        assert.ok(verifyInclusion(claim));
        assert.ok(claim.proof.length <= Math.ceil(Math.log2(size)));
        const wrong = other % size;
        if (wrong !== index) {
          assert.ok(!verifyInclusion({ ...claim, index: wrong }));
          assert.ok(!verifyInclusion({ ...claim, leaf: leafHash(leaves[wrong]!) }));
        }
        assert.ok(!verifyInclusion({ ...claim, root: EMPTY_ROOT() }));
        assert.ok(!verifyInclusion({ ...claim, proof: [...claim.proof, EMPTY_ROOT()] }));
        if (size > 1) assert.ok(!verifyInclusion({ ...claim, proof: claim.proof.slice(1) }));
        assert.ok(!verifyInclusion({ ...claim, index: size }));
      }),
    );
  });

  it('does not survive a change of any bit of the proof', () => {
    const leaves = leavesOf(13);
    const tree = treeOf(leaves);
    for (let index = 0; index < 13; index++) {
      const proof = tree.proveInclusion(index);
      for (let at = 0; at < proof.length; at++) {
        const changed = proof.map((hash, i) => (i === at ? flipped(hash, index) : hash));
        const leaf = leafHash(leaves[index]!);
        assert.ok(!verifyInclusion({ leaf, index, size: 13, proof: changed, root: tree.root() }));
      }
    }
  });
});

describe('verifyConsistency', () => {
  it('holds between every two sizes of one tree, and not for a tree whose past is another', () => {
    fc.assert(
      fc.property(sizes, fc.nat(), fc.nat(), (size, at, touched) => {
        const leaves = leavesOf(size);
        const tree = treeOf(leaves);
        const earlier = at % (size + 1);
        const claim = {
          earlier,
          earlierRoot: tree.root(earlier),
          size,
          root: tree.root(),
          proof: tree.proveConsistency(earlier),
        };
        assert.ok(verifyConsistency(claim));
        assert.ok(!verifyConsistency({ ...claim, proof: [...claim.proof, EMPTY_ROOT()] }));
        assert.ok(!verifyConsistency({ ...claim, root: flipped(claim.root, touched) }) || earlier === 0);
        if (earlier === 0) return;
        const rewritten = leaves.map((leaf, i) => (i === touched % earlier ? Buffer.from('other') : leaf));
        const other = treeOf(rewritten);
        const forged = { ...claim, root: other.root(), proof: other.proveConsistency(earlier) };
        assert.ok(!verifyConsistency(forged));
      }),
    );
  });

  it('does not survive a change of any bit of the proof', () => {
    const tree = treeOf(leavesOf(29));
    for (let earlier = 1; earlier < 29; earlier++) {
      const proof = tree.proveConsistency(earlier);
      for (let at = 0; at < proof.length; at++) {
        const changed = proof.map((hash, i) => (i === at ? flipped(hash, earlier) : hash));
        const claim = { earlier, earlierRoot: tree.root(earlier), size: 29, root: tree.root() };
        assert.ok(!verifyConsistency({ ...claim, proof: changed }));
      }
    }
  });
});

const hex = (hash: MerkleHash) => Buffer.from(hash).toString('hex');

function flipped(hash: MerkleHash, bit: number): MerkleHash {
  const copy = Uint8Array.from(hash);
  copy[(bit >> 3) % copy.length]! ^= 1 << (bit & 7);
  return copy;
}
