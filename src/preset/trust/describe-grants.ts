// Owns: what a workspace would grant beyond the defaults, in plain lines: its policy, the tools of its folders and haft.lock.
// Not here: what each section grants (src/policy/sections). What a file says is quoted: no text in it can look like a line of ours.
import { resolve } from 'node:path';
import type { LockFile } from '../../contract/lock.ts';
import { type PolicyFile, packFolders } from '../../contract/policy.ts';
import { readLockFile } from '../../loader/lock/lock-file.ts';
import { ToolpackLoader } from '../../loader/tool-yaml/toolpack-loader.ts';
import { isToolpackFolder } from '../../loader/toolpack/pack-files.ts';
import { describeGrants } from '../../policy/compare-policies.ts';
import { shown } from '../../policy/values.ts';

/** The same with the tools of folders and with haft.lock, as they are on this machine. Nothing is run for it. */
export async function describePolicy(workspace: string, policy: PolicyFile): Promise<readonly string[]> {
  const tools = await Promise.all(packFolders(policy).map((path) => describeFolder(workspace, path)));
  return [...describeGrants(policy), ...describeLock(lockOf(workspace)), ...tools.flat()];
}

async function describeFolder(workspace: string, path: string): Promise<readonly string[]> {
  const folder = resolve(workspace, path);
  if (isToolpackFolder(folder))
    return [`code of the toolpack ${shown(path)}, and the programs that it plans`];
  const loader = new ToolpackLoader({ quarantine: true });
  let problems = 0;
  try {
    const { diagnostics } = await loader.loadDir(folder, { label: path, root: workspace });
    problems = diagnostics.filter(({ severity }) => severity === 'error').length;
  } catch {
    problems = 1;
  }
  const unread = problems > 0 ? [`more in ${shown(path)} that has mistakes and cannot be read`] : [];
  const tools = loader.list().map(({ id, execution }) => {
    const { kind } = execution;
    if (kind === 'http') return `the tool ${shown(id)}: connects to ${shown(execution.url)}`;
    if (kind === 'cli')
      return `the tool ${shown(id)}: runs ${execution.cmd.map((word) => shown(word)).join(' ')}`;
    const { entry } = execution;
    return `the tool ${shown(id)}: runs ${kind} ${shown(entry.by === 'script' ? entry.path : entry.module)}`;
  });
  return [...tools, ...unread];
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
