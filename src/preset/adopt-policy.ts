// Owns: the policy that a runtime goes by: loaded, without errors, and trusted by whoever starts Haft here.
// Refuses: a policy that has an error, and one that nobody trusted.
import { type Diagnostic, formatDiagnostic } from '../contract/diagnostic.ts';
import { fail } from '../contract/errors.ts';
import type { LoadResult } from '../contract/manifest.ts';
import { type LoadedPolicy, UNTRUSTED_POLICY } from '../contract/policy.ts';
import { defaultPolicy } from '../loader/haft-yaml/load-haft-yaml.ts';
import { outerFolders } from '../loader/haft-yaml/outer-folders.ts';
import { loadPolicy } from './load-policy.ts';
import { checkTrust } from './trust/trust.ts';

/** Throws `policy.invalid` and `policy.untrusted`. `workspace` is absolute and resolved. */
export async function adoptPolicy(
  workspace: string,
  given: readonly string[],
): Promise<{ readonly policy: LoadedPolicy; readonly diagnostics: readonly Diagnostic[] }> {
  const { value, diagnostics } = await loadTrusted(workspace, given);
  if (value) return { policy: value, diagnostics };
  const lines = diagnostics.map(formatDiagnostic);
  throw fail('policy.invalid', `Cannot start: haft.yaml has problems\n${lines.join('\n')}`);
}

/**
 * No value where it has errors. Throws `policy.untrusted`. Below another workspace that is this user's, the policy of that
 * one holds as well.
 */
export async function loadTrusted(
  workspace: string,
  given: readonly string[],
): Promise<LoadResult<LoadedPolicy>> {
  return belowOuter(workspace, await loadOwn(workspace, given));
}

/** What the policies of the workspaces around this one leave of it. */
export async function belowOuter(
  workspace: string,
  own: LoadResult<LoadedPolicy>,
): Promise<LoadResult<LoadedPolicy>> {
  const folders = outerFolders(workspace);
  if (!own.value || folders.length === 0) return own;
  const { narrowByOuter } = await import('./trust/outer-policies.ts');
  const { value, diagnostics } = await narrowByOuter(own.value, workspace, folders);
  return { value, diagnostics: [...own.diagnostics, ...diagnostics] };
}

/** Packs of this workspace that the policy of one around it does not name: a line for each, '' where there is none. */
export async function tellUnnamedPacks(workspace: string): Promise<string> {
  if (outerFolders(workspace).length === 0) return '';
  const { diagnostics } = await belowOuter(workspace, await loadPolicy(workspace));
  const unnamed = diagnostics.filter(({ code }) => code === 'packs.outer');
  return unnamed.map(({ message, hint }) => `haft: ${message}; ${hint}\n`).join('');
}

async function loadOwn(workspace: string, given: readonly string[]): Promise<LoadResult<LoadedPolicy>> {
  const loaded = await loadPolicy(workspace);
  if (!loaded.value || (await checkTrust(workspace, loaded.value, given)) !== 'given') return loaded;
  // Whoever vouches for the bytes vouches for nothing that a cache makes of them.
  const fresh = await loadPolicy(workspace, undefined, { fresh: true });
  if (fresh.value) await checkTrust(workspace, fresh.value, given);
  return fresh;
}

/** Where no policy may be adopted: nothing can be called. What was recorded can still be read. */
export const closedPolicy = (workspace: string): LoadedPolicy => ({
  ...defaultPolicy(workspace),
  file: { version: 1, tools: { default: 'deny' } },
  name: UNTRUSTED_POLICY,
});

export const isClosed = ({ name }: LoadedPolicy): boolean => name === UNTRUSTED_POLICY;
