// Owns: loading a workspace's policy with the rules that this build has.
// Refuses: to use a policy that has an error.
import type { LoadResult } from '../contract/manifest.ts';
import type { LoadedPolicy } from '../contract/policy.ts';
import { loadHaftYaml } from '../loader/haft-yaml/load-haft-yaml.ts';
import { RULES } from '../rules/index.ts';

export function loadPolicy(
  workspace: string,
  file?: string,
  { fresh = false } = {},
): Promise<LoadResult<LoadedPolicy>> {
  const availableRules = RULES.map((rule) => rule.id);
  return loadHaftYaml({ workspace, availableRules, fresh, ...(file === undefined ? {} : { file }) });
}
