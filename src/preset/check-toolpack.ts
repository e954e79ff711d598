// Owns: the conformance suite of toolpacks run by itself, for people: which case failed, and why.
// Refuses: to stop at the first.
import type { Diagnostic } from '../contract/diagnostic.ts';
import { isFailure } from '../contract/errors.ts';
import type { PolicyFile } from '../contract/policy.ts';
import { processIdentity } from '../stores/process-identity.ts';
import { TOOLPACK_CASES } from '../testing/toolpack-suite.ts';
import { adoptPolicy } from './adopt-policy.ts';
import { grantedBackends } from './runs/choose-place.ts';
import { createRunParts } from './runs/run-parts.ts';
import { openToolpackBench, type ToolpackBench } from './toolpack-bench.ts';
import { givenTrust } from './trust/trust.ts';

export interface ToolpackCheck {
  readonly ok: boolean;
  readonly tools: readonly string[];
  /** Of the pack's definitions; where there are some, no case was tried. */
  readonly diagnostics: readonly Diagnostic[];
  readonly cases: readonly { readonly name: string; readonly ok: boolean; readonly message?: string }[];
}

/** `workspace` is the one whose policy says which images there are; null leaves them alone. */
export async function checkToolpack(folder: string, workspace: string | null): Promise<ToolpackCheck> {
  const first = await openToolpackBench(folder);
  const { diagnostics } = first;
  const tools = first.tools.map(({ id }) => id);
  await first.close();
  if (diagnostics.length > 0) return { ok: false, tools, diagnostics, cases: [] };
  const cases = [];
  for (const { name, run } of TOOLPACK_CASES) {
    const env = await openToolpackBench(folder);
    const message = await run(env).then(
      () => undefined,
      (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown)),
    );
    await env.close();
    cases.push({ name, ok: message === undefined, ...(message === undefined ? {} : { message }) });
  }
  if (workspace !== null) cases.push(await checkImagesOf(folder, workspace));
  return { ok: cases.every(({ ok }) => ok), tools, diagnostics, cases };
}

const IMAGES = 'its images can be pinned here, and haft.yaml lets them run';

async function checkImagesOf(folder: string, workspace: string): Promise<ToolpackCheck['cases'][number]> {
  const bench = await openToolpackBench(folder);
  try {
    const { policy } = await adoptPolicy(workspace, givenTrust(undefined));
    const problems = await checkImages(bench, policy.file);
    return problems.length === 0
      ? { name: IMAGES, ok: true }
      : { name: IMAGES, ok: false, message: problems.join('\n') };
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    return { name: IMAGES, ok: false, message: thrown.message };
  } finally {
    await bench.close();
  }
}

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
