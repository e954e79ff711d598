// Owns: noticing, in a host that lives long, that somebody trusted the workspace's policy, or trusts it no longer.
// Refuses: to judge it: whoever follows loads the policy again.
import { watchFiles } from '../../loader/watch-files.ts';
import { trustFilesOf } from '../../preset/trust/trust.ts';

/** Answers the function that ends it. */
export function followTrust(workspace: string, changed: () => void): () => void {
  const file = trustFilesOf(workspace).prepare();
  return file ? watchFiles(file.folder, [file.name], changed) : () => {};
}
