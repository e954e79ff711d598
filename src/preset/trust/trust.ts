// Owns: whether the policy of a workspace is trusted by whoever starts Haft here, and keeping that it is.
// Refuses: a yes without the policy's own hash, and a policy that grants more than the one that was trusted.
import { type Failure, fail } from '../../contract/errors.ts';
import { type LoadedPolicy, type PolicyChange, packFolders } from '../../contract/policy.ts';
import type { TrustRecord } from '../../contract/store.ts';
import { lockDigest } from '../../loader/lock/lock-file.ts';
import { openTrustFiles, type TrustFiles } from '../../stores/machine/trust-files.ts';

export type Judgement =
  /** `defaults`: there is no haft.yaml and never was one that was trusted. */
  | { readonly trusted: true; readonly by: 'defaults' | 'given' }
  | { readonly trusted: true; readonly by: 'record'; readonly record: TrustRecord }
  | {
      readonly trusted: false;
      /** Absent where nothing was ever trusted here. */
      readonly record: TrustRecord | undefined;
      readonly changes: readonly PolicyChange[];
      /** haft.lock is not the one that was trusted. */
      readonly lock: boolean;
    };

/** Hashes that were given for this run: SHA-256 of haft.yaml in hex. Throws `usage` on anything else, such as "yes". */
export function givenTrust(
  given: string | readonly string[] | undefined,
  { HAFT_TRUST: variable = '' }: NodeJS.ProcessEnv = process.env,
): readonly string[] {
  const texts: readonly unknown[] | undefined = typeof given === 'string' ? given.split(',') : (given ?? []);
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
    throw fail('usage', 'Cannot use the trust: it is neither a SHA-256 in hex nor a list of them');
  return [...texts.map((text) => checkHash(text, 'the trust')), ...fromVariable(variable)];
}

const fromVariable = (text: string): readonly string[] =>
  text.trim() === '' ? [] : text.split(',').map((one) => checkHash(one, 'HAFT_TRUST'));

export function checkHash(text: string, from: string): string {
  const hash = text.trim().toLowerCase();
  if (/^[0-9a-f]{64}$/.test(hash)) return hash;
  throw fail(
    'usage',
    `Cannot use ${from}: "${text.slice(0, 80)}" is not a SHA-256 in hex (sha256sum haft.yaml prints it; several are separated by commas)`,
  );
}

export const trustFilesOf = (workspace: string): TrustFiles =>
  openTrustFiles({ env: process.env, workspace });

/** `workspace` is absolute and resolved. A policy that is trusted by its bytes has to be loaded afresh. */
export async function judgeTrust(
  workspace: string,
  loaded: LoadedPolicy,
  given: readonly string[],
): Promise<Judgement> {
  const record = trustFilesOf(workspace).read();
  const isDefault = loaded.name.startsWith('(');
  if (!record) {
    if (isDefault) return { trusted: true, by: 'defaults' };
    if (given.includes(loaded.sha256)) return { trusted: true, by: 'given' };
    return { trusted: false, record, changes: [], lock: false };
  }
  const changes = await changesFrom(record, loaded);
  const lock = record.lock !== null && lockDigest(workspace) !== record.lock;
  if (!lock && !changes.some(({ widens }) => widens)) return { trusted: true, by: 'record', record };
  if (given.includes(loaded.sha256)) return { trusted: true, by: 'given' };
  return { trusted: false, record, changes, lock };
}

/** What came out of a cache is held against the meaning that was trusted, never against a hash alone. */
async function changesFrom(record: TrustRecord, loaded: LoadedPolicy): Promise<readonly PolicyChange[]> {
  if (JSON.stringify(record.policy) === JSON.stringify(loaded.file)) return [];
  const { comparePolicies } = await import('../../policy/compare-policies.ts');
  return comparePolicies(record.policy, loaded.file);
}

/** Throws `policy.untrusted`, which says what would be granted and how to trust it. */
export async function checkTrust(
  workspace: string,
  loaded: LoadedPolicy,
  given: readonly string[],
): Promise<'defaults' | 'given' | 'record'> {
  const judgement = await judgeTrust(workspace, loaded, given);
  if (judgement.trusted) {
    if (judgement.by === 'record') keepWithoutFolders(workspace, loaded, judgement.record);
    return judgement.by;
  }
  throw await untrusted(workspace, loaded, judgement);
}

/**
 * Tools may write the folder of a pack that is gone: from here on only the policy without it is trusted, so that the pack
 * does not come back with what they wrote unless somebody says so.
 */
function keepWithoutFolders(workspace: string, { file, sha256 }: LoadedPolicy, record: TrustRecord): void {
  const named = packFolders(file);
  if (packFolders(record.policy).every((folder) => named.includes(folder))) return;
  trustFilesOf(workspace).write({ ...record, policy: file, sha256 });
}

/** How many lines of an error are spent on what a policy grants. */
const MAX_LINES = 60;

async function untrusted(
  workspace: string,
  loaded: LoadedPolicy,
  { record, changes, lock }: Extract<Judgement, { trusted: false }>,
): Promise<Failure> {
  const { describeChange } = await import('../../policy/compare-policies.ts');
  const lines = record
    ? [...changes.map(describeChange), ...(lock ? ['~ haft.lock is not the one that was trusted'] : [])]
    : await (await import('./describe-grants.ts')).describePolicy(workspace, loaded.file);
  const shown = lines.slice(0, MAX_LINES).map((line) => `\n  ${line}`);
  const more = lines.length > MAX_LINES ? `\n  … and ${lines.length - MAX_LINES} more` : '';
  const gone = loaded.name.startsWith('(');
  const what = record
    ? gone
      ? 'haft.yaml is gone, and without it more is granted than was trusted:'
      : 'it grants more than what was trusted on this machine:'
    : lines.length > 0
      ? 'it has not been trusted on this machine. It would grant:'
      : 'it has not been trusted on this machine. It grants nothing beyond the defaults.';
  return fail(
    'policy.untrusted',
    `Cannot use the policy of this workspace: ${what}${shown.join('')}${more}\n` +
      'To trust it: read haft.yaml, then run haft trust in a terminal. ' +
      'Without a person: --trust or HAFT_TRUST with the SHA-256 of the haft.yaml that was reviewed.',
    { sha256: loaded.sha256, ...(record ? { changes: lines } : { grants: lines }) },
  );
}

/** Keeps that a person trusts this policy, with the haft.lock of this digest. */
export function keepTrust(workspace: string, { file, sha256 }: LoadedPolicy, lock: string | null): void {
  trustFilesOf(workspace).write({ policy: file, sha256, lock, trustedTs: Date.now() });
}

/** After this program wrote haft.lock on a person's word: what was trusted before stays trusted with it. */
export function keepLockTrust(workspace: string): void {
  const files = trustFilesOf(workspace);
  const record = files.read();
  if (record) files.write({ ...record, lock: lockDigest(workspace) });
}
