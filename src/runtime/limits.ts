// Owns: the limits that hold for a call: of the host's and the tool's own the smaller one.
// Not here: what happens to a call that is over one (pipeline.ts, deadline.ts).
import type { PolicyEngine } from '../contract/policy.ts';
import type { AnyTool } from '../contract/tool.ts';
import { renderGrant } from '../policy/grant.ts';

/** The smaller of the host's limit and the tool's holds. */
export function effectiveLimits(tool: AnyTool, engine: PolicyEngine): EffectiveLimits {
  const host = engine.loaded.file.limits ?? {};
  const size = (own: number, key: 'max_input_bytes' | 'max_output_bytes'): SizeLimit => ({
    bytes: Math.min(own, host[key] ?? Number.POSITIVE_INFINITY),
    // Neither a tool's own limit nor a session's is haft.yaml's to raise.
    admit: (needed) =>
      needed <= own && engine.host.limits?.[key] === host[key]
        ? { admit: renderGrant({ limits: { [key]: needed } }) }
        : {},
  });
  return {
    timeoutMs: Math.min(tool.limits.timeoutMs, host.timeout_ms ?? Number.POSITIVE_INFINITY),
    input: size(tool.limits.maxInputBytes, 'max_input_bytes'),
    output: size(tool.limits.maxOutputBytes, 'max_output_bytes'),
  };
}

export interface EffectiveLimits {
  readonly timeoutMs: number;
  readonly input: SizeLimit;
  readonly output: SizeLimit;
}

export interface SizeLimit {
  readonly bytes: number;
  /** The line that would let so many bytes through, for the details of a failure. */
  admit(needed: number): { readonly admit?: string };
}
