// Owns: naming a new pack's folder in haft.yaml on a person's word, so that the policy which was trusted stays trusted with it.
// Refuses: a policy that is not trusted, one that is trusted for this run only, and any other change of what is granted.
import { sha256Hex } from '../../base/digest.ts';
import { formatDiagnostic } from '../../contract/diagnostic.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { LoadedPolicy, PolicyFile } from '../../contract/policy.ts';
import {
  applyAdmit,
  isLinkedPolicy,
  readPolicyText,
  replacePolicyFile,
} from '../../loader/haft-yaml/apply-admit.ts';
import { lockDigest, readLockFile, writeLockFile } from '../../loader/lock/lock-file.ts';
import { pinPacks, replacePack } from '../../loader/lock/pin-tools.ts';
import { comparePolicies } from '../../policy/compare-policies.ts';
import { SEARCHABLE_TOOLS } from '../../runtime/tool-search/searchable.ts';
import { loadTrusted } from '../adopt-policy.ts';
import { createDefaultRuntime } from '../default.ts';
import { loadPolicy } from '../load-policy.ts';
import { localPerson, recordManagement } from '../record-management.ts';
import { checkTrust, givenTrust, keepLockTrust, keepTrust, trustFilesOf } from '../trust/trust.ts';
import { packEntries } from './pack-entries.ts';
import { withWorkspacePacks } from './workspace-packs.ts';

export interface NewFolder {
  /** Of the pack, and of its tool. */
  readonly name: string;
  /** Relative to the workspace. */
  readonly path: string;
  readonly frozen: boolean;
}

export interface Registering {
  /** Once the folder is there. Answers whether the policy could be kept as trusted. */
  register(): Promise<boolean>;
}

/** Throws whatever would keep it from being registered or called, before anything is written. */
export async function prepareFolder(workspace: string, folder: NewFolder): Promise<Registering> {
  const { name, frozen } = folder;
  const cannot = `Cannot make the toolpack "${name}"`;
  if (frozen) throw fail('lockfile.drift', `${cannot} while frozen: nothing may differ from haft.lock`);
  const before = await loadOwn(workspace);
  if ((await checkTrust(workspace, before, givenTrust(undefined))) === 'given')
    throw fail(
      'usage',
      `${cannot}: haft.yaml is trusted for this run only, and has to name the new pack; run haft trust first`,
    );
  if (isLinkedPolicy(workspace))
    throw fail(
      'usage',
      `${cannot} here: haft.yaml is a link to another place, and has to name the new pack; put the file itself here`,
    );
  const { value } = await loadTrusted(workspace, []);
  const outer = value?.outer?.[0]?.name;
  if (outer !== undefined)
    throw fail(
      'usage',
      `${cannot} here: ${outer} holds here as well, and a pack has to be named in both; make it in the folder of that one`,
    );
  await refuseTaken(workspace, name, cannot);
  return { register: () => register(workspace, folder, before) };
}

async function loadOwn(workspace: string, file?: string): Promise<LoadedPolicy> {
  const { value, diagnostics } = await loadPolicy(workspace, file, { fresh: true });
  if (value) return value;
  throw fail('policy.invalid', `Cannot read haft.yaml:\n${diagnostics.map(formatDiagnostic).join('\n')}`);
}

/** A call of the name has to be a call of the new tool. */
async function refuseTaken(workspace: string, name: string, cannot: string): Promise<void> {
  const builtin = [...(await toolsOf(workspace, [])), ...SEARCHABLE_TOOLS.map((tool) => tool.name)];
  if (builtin.includes(name))
    throw fail('pack.invalid', `${cannot}: a builtin tool has that name; take another`);
  const packs = await withWorkspacePacks(workspace, (known) => known.list());
  if (packs.some((pack) => pack.name === name))
    throw fail('pack.invalid', `${cannot}: a pack of haft.yaml has that name; take another`);
  // Packs that are wrong, or away, have no tools now; whoever puts them right is told of a name that two have.
  const installed = await toolsOf(workspace).catch((thrown: unknown): readonly string[] => {
    if (isFailure(thrown)) return [];
    throw thrown;
  });
  if (installed.includes(name))
    throw fail('pack.invalid', `${cannot}: an installed tool has that name; take another`);
}

async function toolsOf(workspace: string, packs?: PolicyFile['packs']): Promise<readonly string[]> {
  const runtime = await createDefaultRuntime({ workspace, ...(packs ? { packs } : {}) });
  try {
    return runtime.tools().map(({ contract }) => contract.id);
  } finally {
    await runtime.close();
  }
}

async function register(
  workspace: string,
  { name, path }: NewFolder,
  before: LoadedPolicy,
): Promise<boolean> {
  const text = await applyAdmit(judgedText(workspace, before), JSON.stringify({ packs: [path] }));
  const after = await replacePolicyFile(workspace, text, async (draft) => {
    const policy = await loadOwn(workspace, draft);
    const other = comparePolicies(before.file, policy.file).find(({ key }) => key !== 'packs');
    if (other)
      throw fail('policy.invalid', `Cannot add to haft.yaml: that would change ${other.key} as well`);
    // Nobody else may have written it since it was judged.
    judgedText(workspace, before);
    return policy;
  });
  const trusted = trust(workspace, after);
  let locked = false;
  try {
    locked = trusted && (await pin(workspace, path));
  } finally {
    const facts = { pack: name, path, sha256: after.sha256, trusted, locked };
    await recordManagement(workspace, { action: 'haft toolpack new', by: localPerson(), facts });
  }
  return trusted;
}

/** Throws unless it is what was judged. */
function judgedText(workspace: string, { name, sha256 }: LoadedPolicy): string {
  const text = readPolicyText(workspace);
  if (sha256Hex(text) === sha256 || (text === '' && name.startsWith('('))) return text;
  throw fail('file.conflict', 'Cannot add to haft.yaml: somebody else is changing it; try again');
}

function trust(workspace: string, policy: LoadedPolicy): boolean {
  const files = trustFilesOf(workspace);
  if (!files.file) return false;
  const record = files.read();
  keepTrust(workspace, policy, record ? record.lock : lockDigest(workspace));
  return true;
}

/** Answers whether there is a haft.lock that holds it now. */
async function pin(workspace: string, path: string): Promise<boolean> {
  const lock = readLockFile(workspace);
  if (!lock) return false;
  const runtime = await createDefaultRuntime({ workspace, lock: 'ignore', packs: [path] });
  try {
    const pins = pinPacks(runtime.installations.all());
    const [entry] = packEntries({ packs: [path] });
    if (writeLockFile(workspace, replacePack(lock, entry?.name ?? path, pins))) keepLockTrust(workspace);
  } finally {
    await runtime.close();
  }
  return true;
}
