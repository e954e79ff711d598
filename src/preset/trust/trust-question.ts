// Owns: the question whether a person trusts a workspace's policy: what it grants, how it differs, and keeping a yes.
// Refuses: to ask, and to answer; and to keep anything else than what was shown.
import { formatDiagnostic } from '../../contract/diagnostic.ts';
import { fail } from '../../contract/errors.ts';
import type { PolicyDiff, TrustQuestion } from '../../contract/operation-handles.ts';
import type { LoadedPolicy } from '../../contract/policy.ts';
import { lockDigest } from '../../loader/lock/lock-file.ts';
import { comparePolicies, describeChange } from '../../policy/compare-policies.ts';
import { loadPolicy } from '../load-policy.ts';
import { describePolicy } from './describe-grants.ts';
import { keepTrust, trustFilesOf } from './trust.ts';

export async function trustQuestion(workspace: string): Promise<TrustQuestion> {
  const lock = lockDigest(workspace);
  const loaded = await loadFresh(workspace);
  const record = trustFilesOf(workspace).read();
  const absent = loaded.name.startsWith('(');
  const keep = () => keepTrust(workspace, loaded, lock);
  const shape = (state: TrustQuestion['state'], lines: readonly string[]) => ({
    state,
    sha256: loaded.sha256,
    lines,
    keep,
  });
  if (!record) {
    if (absent) return shape('nothing', []);
    const grants = await describePolicy(workspace, loaded.file);
    return shape(
      'asked',
      grants.length > 0 ? ['It grants:', ...grants] : ['It grants nothing beyond the defaults.'],
    );
  }
  const changes = comparePolicies(record.policy, loaded.file);
  if (changes.length === 0 && record.lock === lock) return shape('same', []);
  return shape('asked', [
    'What was trusted before, and what is there now:',
    ...(absent ? ['haft.yaml is gone'] : []),
    ...changes.map(describeChange),
    ...(record.lock === lock ? [] : ['~ haft.lock is not the one that was trusted']),
    ...(record.lock === lock ? [] : await describePolicy(workspace, { version: 1 })),
  ]);
}

/** What was trusted against what is there; against the defaults where nothing was. */
export async function diffPolicy(workspace: string): Promise<Omit<PolicyDiff, 'lines'>> {
  const loaded = await loadFresh(workspace);
  const record = trustFilesOf(workspace).read();
  const changes = comparePolicies(record?.policy ?? { version: 1 }, loaded.file);
  const lockChanged = record !== undefined && record.lock !== lockDigest(workspace);
  const trusted = record
    ? !changes.some(({ widens }) => widens) && (record.lock === null || !lockChanged)
    : loaded.name.startsWith('(');
  return { trusted, known: record !== undefined, sha256: loaded.sha256, changes, lockChanged };
}

export const revokeTrust = (workspace: string): boolean => trustFilesOf(workspace).remove();

export const listTrust = (workspace: string) =>
  trustFilesOf(workspace)
    .list()
    .map(({ folder, sha256, trustedTs }) => ({ folder, sha256, since: new Date(trustedTs).toISOString() }));

/** Trusts what this program wrote itself, and nothing else that may lie there by now. Answers whether it could. */
export async function trustWritten(workspace: string, sha256: string): Promise<boolean> {
  const lock = lockDigest(workspace);
  const loaded = await loadFresh(workspace);
  if (loaded.sha256 !== sha256 || !trustFilesOf(workspace).file) return false;
  keepTrust(workspace, loaded, lock);
  return true;
}

async function loadFresh(workspace: string): Promise<LoadedPolicy> {
  const { value, diagnostics } = await loadPolicy(workspace, undefined, { fresh: true });
  if (value) return value;
  const lines = diagnostics.map(formatDiagnostic).join('\n');
  throw fail('policy.invalid', `Cannot read haft.yaml:\n${lines}`);
}
