// Owns: what a call is known by: the hash of its arguments and, if deterministic, its run id.
// Refuses: anything that may differ between two equal calls.
import { canonicalJson } from '../base/canonical-json.ts';
import { digest } from '../base/digest.ts';
import { runId } from '../base/run-id.ts';
import { fail, isFailure } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { AnyTool, ToolContract } from '../contract/tool.ts';

export interface ArgsIdentity {
  readonly hash: string;
  readonly bytes: number;
}

/** Throws `input.not_canonical` for what has no canonical form. */
export function identifyArgs(args: unknown): ArgsIdentity {
  const bytes = canonicalJson(args);
  return { hash: digest('params/v1', bytes), bytes: bytes.length };
}

/** An embedding program can hand over an object whose properties throw: that is no bug of Haft. */
export function readArgs(tool: string, sent: JsonObject) {
  try {
    return { identity: identifyArgs(sent), args: { ...sent } };
  } catch (thrown) {
    if (isFailure(thrown)) throw thrown;
    throw fail('input.not_canonical', `Cannot call "${tool}": reading its arguments failed; send plain JSON`);
  }
}

export interface RunIdentity {
  readonly runId: string;
  readonly preimage: JsonObject;
}

/** Programs of another platform are other programs. Every backend runs those of this one. */
const PLATFORM = `${process.platform}/${process.arch}`;

/** `params` are the arguments with defaults filled in, so that leaving a default out is the same run, or all that stands for them. */
export function identifyRun(tool: ToolContract, params: unknown, policyHash: string): RunIdentity {
  const paramsHash = identifyArgs(params).hash;
  const preimage = {
    tool: tool.id,
    contractVersion: tool.contract,
    policyHash,
    paramsHash,
    platform: PLATFORM,
  };
  return { runId: runId(preimage), preimage: { ...preimage, params: params as JsonObject } };
}

/**
 * What the run of a tool that is not prepared depends on: its arguments, or what it says stands for them, its code, and what
 * it may read. Undefined where that cannot be known: then there is no run.
 */
export async function runParams(tool: AnyTool, args: JsonObject): Promise<JsonObject | undefined> {
  const inputs = await tool.runInputs?.(args as never);
  if (!inputs) return args;
  const { code, key, reads, unknown } = inputs;
  if (unknown !== undefined) return undefined;
  return { code, ...(reads ? { reads } : {}), ...(key === undefined ? { args } : { key }) };
}
