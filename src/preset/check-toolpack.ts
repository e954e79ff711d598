// Owns: the conformance suite of toolpacks run by itself, for people: which case failed, and why.
// Refuses: to stop at the first.
import type { Diagnostic } from '../contract/diagnostic.ts';
import { isFailure } from '../contract/errors.ts';
import { TOOLPACK_CASES } from '../testing/toolpack-suite.ts';
import { adoptPolicy } from './adopt-policy.ts';
import { checkImages } from './runs/check-images.ts';
import { openToolpackBench } from './toolpack-bench.ts';
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
