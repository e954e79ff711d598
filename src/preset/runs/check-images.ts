// Owns: whether the calls of a toolpack could run where policy lets them: each image pinned and admitted, on each backend.
// Refuses: to run anything, and to write into the workspace whose policy it is.
import { isFailure } from '../../contract/errors.ts';
import type { PolicyFile } from '../../contract/policy.ts';
import { processIdentity } from '../../stores/process-identity.ts';
import type { ToolpackBench } from '../toolpack-bench.ts';
import { grantedBackends } from './choose-place.ts';
import { createRunParts } from './run-parts.ts';

/** Everything that is wrong, each once. */
export async function checkImages(bench: ToolpackBench, policy: PolicyFile): Promise<readonly string[]> {
  const parts = await createRunParts({
    folder: `${bench.workspace}/.haft`,
    artifacts: bench.artifacts,
    process: processIdentity(),
    policy: () => policy,
    env: process.env,
    alert() {},
  });
  const problems = new Set<string>();
  const attempt = async <T>(what: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await what();
    } catch (thrown) {
      if (!isFailure(thrown)) throw thrown;
      problems.add(describe(thrown.message, thrown.details?.admit));
      return undefined;
    }
  };
  try {
    for (const { tool, args } of bench.calls) {
      const pin = (reference: string) => parts.pinImage!(reference, { tool, policy });
      const prepared = await attempt(() => bench.prepare(tool, args, pin));
      if (!prepared?.plan) continue;
      const { plan, plans } = prepared;
      const run = { tool, plan, policy, ...(plans ? { plans } : {}) };
      const usual = await attempt(async () => parts.choose!(run));
      // Those that a caller may ask for, and that the plan is for.
      const others = grantedBackends(tool, policy.runs ?? {}).names.filter(
        (name) => name !== usual?.backend && plans?.[name] !== undefined,
      );
      for (const backend of others) await attempt(async () => parts.choose!({ ...run, backend }));
    }
  } finally {
    await Promise.all(parts.backends.map((backend) => backend.close()));
  }
  return [...problems];
}

function describe(message: string, admit: unknown): string {
  if (typeof admit !== 'string') return message;
  const lines = admit.trimEnd().split('\n');
  return `${message}\n  To allow this, add to haft.yaml:\n${lines.map((line) => `    ${line}`).join('\n')}`;
}
