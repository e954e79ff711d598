// Owns: the conformance suite of toolpacks run by itself, for people: which case failed, and why.
// Refuses: to stop at the first.
import type { Diagnostic } from '../contract/diagnostic.ts';
import { TOOLPACK_CASES } from '../testing/toolpack-suite.ts';
import { openToolpackBench } from './toolpack-bench.ts';

export interface ToolpackCheck {
  readonly ok: boolean;
  readonly tools: readonly string[];
  /** Of the pack's definitions; where there are some, no case was tried. */
  readonly diagnostics: readonly Diagnostic[];
  readonly cases: readonly { readonly name: string; readonly ok: boolean; readonly message?: string }[];
}

export async function checkToolpack(folder: string): Promise<ToolpackCheck> {
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
  return { ok: cases.every(({ ok }) => ok), tools, diagnostics, cases };
}
