// Owns: the check of a policy that is given as an object, such as a session's registry.
// Refuses: reading files; what an object says is checked by the same table as haft.yaml.
import type { LoadResult } from '../../contract/manifest.ts';
import type { PolicyFile } from '../../contract/policy.ts';
import { locateObject } from '../yaml/located.ts';
import { createReport } from '../yaml/report.ts';
import { checkPolicy } from './check-policy.ts';
import { checkValidators } from './check-validators.ts';

export interface CheckPolicyObjectOptions {
  /** What diagnostics call it. */
  readonly name?: string;
  readonly availableRules?: readonly string[];
}

export async function checkPolicyObject(
  value: unknown,
  { name = '(registry)', availableRules }: CheckPolicyObjectOptions = {},
): Promise<LoadResult<PolicyFile>> {
  const report = createReport(name);
  const located = locateObject(value);
  const { draft } = await checkPolicy(located, report);
  checkValidators(draft, availableRules, { report, compilePattern: undefined, place: () => located.at });
  const diagnostics = report.diagnostics();
  return { value: report.failed ? undefined : (draft as PolicyFile), diagnostics };
}
