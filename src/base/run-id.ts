// Owns: the identity of a deterministic call: equal inputs, equal run id.
// Refuses: to choose what goes into the params; the runtime does, and hands them over whole.
import { canonicalJson } from './canonical-json.ts';
import { digest } from './digest.ts';

/** Everything that names a run. Its canonical JSON is the preimage that is stored beside the run. */
export interface RunKey {
  readonly tool: string;
  readonly contractVersion: string;
  readonly policyHash: string;
  readonly paramsHash: string;
  /** Operating system and architecture: `linux/x64`. Runs of earlier versions have none; their ids are still theirs. */
  readonly platform?: string;
}

/** `run_` and all 256 bits in hex. Fields beyond those of `RunKey` do not count. */
export function runId({ tool, contractVersion, policyHash, paramsHash, platform }: RunKey): `run_${string}` {
  const key = { contractVersion, paramsHash, policyHash, tool };
  return platform === undefined
    ? `run_${digest('run/v1', canonicalJson(key))}`
    : `run_${digest('run/v2', canonicalJson({ ...key, platform }))}`;
}

/** Throws a `Rejection` where the params have no canonical form. */
export function paramsHash(params: unknown): string {
  return digest('params/v1', canonicalJson(params));
}
