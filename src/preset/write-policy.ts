// Owns: putting a grant into the haft.yaml of a workspace on a person's word, checked before it is in its place.
// Refuses: a file with problems, one that is a link, and to trust what it wrote: haft trust does.
import { sha256Hex } from '../base/digest.ts';
import { makeUnifiedDiff } from '../base/unified-diff/make-diff.ts';
import { formatDiagnostic } from '../contract/diagnostic.ts';
import { fail } from '../contract/errors.ts';
import type { WrittenPolicy } from '../contract/operation-handles.ts';
import {
  applyAdmit,
  isLinkedPolicy,
  readPolicyText,
  replacePolicyFile,
} from '../loader/haft-yaml/apply-admit.ts';
import { loadPolicy } from './load-policy.ts';
import { diffPolicy } from './trust/trust-question.ts';

export async function writePolicy(workspace: string, admit: string): Promise<WrittenPolicy> {
  if (isLinkedPolicy(workspace))
    throw fail('usage', 'Cannot write haft.yaml: it is a link to another place; edit the file itself');
  const before = readPolicyText(workspace);
  const after = await applyAdmit(before, admit);
  const diff = await makeUnifiedDiff('haft.yaml', 'haft.yaml', before, after);
  if (after !== before)
    await replacePolicyFile(workspace, after, async (draft) => {
      const { value, diagnostics } = await loadPolicy(workspace, draft, { fresh: true });
      if (!value)
        throw fail(
          'policy.invalid',
          `Cannot write haft.yaml:\n${diagnostics.map(formatDiagnostic).join('\n')}`,
        );
      if (readPolicyText(workspace) !== before)
        throw fail('file.conflict', 'Cannot write haft.yaml: somebody else is changing it; try again');
    });
  return { diff, sha256: sha256Hex(after), trusted: (await diffPolicy(workspace)).trusted };
}
