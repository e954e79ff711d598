// Owns: which files a bundle has, by what each is for, and how artifacts lie in it.
// Refuses: bytes; those come from whoever exports, and are looked for by whoever verifies.
import type { TreeEntry } from '../../base/tree-manifest.ts';
import { fail } from '../../contract/errors.ts';

/** Those of every bundle. The envelope covers all the others by their digests. */
export const BUNDLE_FILES = {
  attestation: 'attestation.json',
  checkpoint: 'audit/checkpoint.txt',
  proof: 'audit/proof.json',
  row: 'audit/row.json',
  policy: 'policy.json',
  preimage: 'preimage.json',
  key: 'public-key.txt',
  result: 'result.json',
} as const;

/** The proof that a row is in the audit, as the file of it holds it. */
export interface InclusionFile {
  readonly leaf_index: number;
  readonly tree_size: number;
  /** From the leaf up, in base64. */
  readonly hashes: readonly string[];
}

export type Side = 'inputs' | 'outputs';

/** `outputs/table`; roles may be any text. */
export function artifactPath(side: Side, role: string): string {
  const name = encodeURIComponent(role).replaceAll('.', '%2E');
  return `${side}/${name}`;
}

/** A tree is its manifest, whose SHA-256 is the tree's digest, and beside it a folder of its files. */
export const manifestPath = (path: string): string => `${path}.tree`;

/** Where the files of a tree lie. */
export function treeFiles(
  path: string,
  entries: readonly TreeEntry[],
): readonly {
  readonly path: string;
  readonly inside: string;
  readonly entry: Extract<TreeEntry, { type: 'file' }>;
}[] {
  return entries.flatMap((entry) =>
    entry.type === 'file' ? [{ path: `${path}/${entry.path}`, inside: entry.path, entry }] : [],
  );
}

/** What a part of a bundle is not. `part` is the file to blame, where that is not the one that is being read. */
export function altered(fact: string, part?: string): Error {
  return fail('bundle.altered', `Cannot trust it: ${fact}`, part === undefined ? undefined : { part });
}
