// Owns: the Merkle tree over the rows of the audit, built from their hashes, and checkpoints of it.
// Refuses: to judge the rows; whether they are those that were written is `audit verify`.
import { createMerkleTree, leafHash, type MerkleTree } from '../../base/merkle.ts';
import type { Signer } from '../../contract/bundle.ts';
import { fail } from '../../contract/errors.ts';
import type { AuditStore } from '../../contract/store.ts';
import { originOf, signCheckpoint } from './checkpoint.ts';

export interface AuditTree {
  readonly tree: MerkleTree;
  readonly origin: string;
}

/** Over the first `count` rows. A leaf is the hash of a row, as bytes. */
export async function buildAuditTree(audit: Pick<AuditStore, 'hashes'>, count: number): Promise<AuditTree> {
  const tree = createMerkleTree();
  let first = '';
  for await (const hashes of audit.hashes(count)) {
    for (const hash of hashes) {
      first ||= hash;
      tree.append(auditLeaf(hash));
    }
  }
  if (count === 0 || tree.size !== count)
    throw fail('audit.broken', `Cannot prove anything about ${count} rows of the audit: it has ${tree.size}`);
  return { tree, origin: originOf(first) };
}

export const auditLeaf = (rowHash: string): Uint8Array => leafHash(Buffer.from(rowHash, 'hex'));

/** A signed checkpoint of that tree. */
export function checkpointOf({ tree, origin }: AuditTree, signer: Signer): string {
  return signCheckpoint({ origin, size: tree.size, root: tree.root() }, signer);
}
