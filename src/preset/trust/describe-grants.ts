// Owns: what a workspace would grant beyond the defaults, in plain lines: its policy, the tools of its folders and haft.lock.
// Not here: what each section grants (src/policy/sections). What a file says is quoted: no text in it can look like a line of ours.

import type { LockFile } from '../../contract/lock.ts';
import { type PolicyFile, packFolders } from '../../contract/policy.ts';
import { readLockFile } from '../../loader/lock/lock-file.ts';
import { describeGrants } from '../../policy/compare-policies.ts';
import { shown } from '../../policy/values.ts';
import { sourceOf } from '../packs/sources/index.ts';

/** The same with the tools of folders and with haft.lock, as they are on this machine. Nothing is run for it. */
export async function describePolicy(workspace: string, policy: PolicyFile): Promise<readonly string[]> {
  const tools = await Promise.all(packFolders(policy).map((path) => describeFolder(workspace, path)));
  return [...describeGrants(policy), ...describeLock(lockOf(workspace)), ...tools.flat()];
}

async function describeFolder(root: string, path: string): Promise<readonly string[]> {
  const entry = { kind: 'path', name: '', path, config: {}, enabled: true };
  return (await sourceOf(entry, root).describe?.(entry, root, shown)) ?? [];
}

function lockOf(workspace: string): LockFile | undefined {
  try {
    return readLockFile(workspace);
  } catch {
    return undefined;
  }
}

function describeLock(lock: LockFile | undefined): readonly string[] {
  if (!lock) return [];
  return Object.keys(lock.packs).map((name) => {
    const tools = Object.entries(lock.tools).flatMap(([id, tool]) => (tool.pack === name ? [shown(id)] : []));
    return `haft.lock accepts the pack ${shown(name)}: ${tools.length} tools (${tools.join(', ')})`;
  });
}
