// Owns: the files of a tree as `haft.lock` lists them: each by its own SHA-256, installed packages as one.
// Refuses: to make a lock file of thousands of lines that nobody reads.
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import type { TreeFile } from './read-tree.ts';

type HashedFile = Pick<TreeFile, 'path' | 'sha256'>;

/** What lies in a `node_modules` is one entry, whose name ends with `/`. `below` is put before every path. */
export function lockedFiles(
  { files }: { readonly files: readonly HashedFile[] },
  below = '',
): { readonly [path: string]: string } {
  const listed: [string, string][] = [];
  const folded = new Map<string, HashedFile[]>();
  for (const file of files) {
    const path = below + file.path;
    const packages = /^(?:.*?\/)?node_modules\//.exec(path)?.[0];
    if (packages === undefined) listed.push([path, file.sha256]);
    else folded.set(packages, [...(folded.get(packages) ?? []), file]);
  }
  for (const [path, inside] of folded) {
    const rows = inside.map((file) => [file.path, file.sha256]);
    listed.push([path, digest('toolpack/v1', canonicalJson({ files: rows }))]);
  }
  return Object.fromEntries(listed);
}
