// Owns: what the run of a program depends on beside its arguments and its definition: its code, what it may read, its variables.
// Refuses: values themselves: a variable may be a secret, so that only digests are kept.
import { canonicalJson } from '../base/canonical-json.ts';
import { digest } from '../base/digest.ts';
import type { RunInputs } from '../contract/adapter.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ReadInputs } from '../contract/runs.ts';

export interface ProgramInputs {
  /** Of the folder that its code lies in. */
  readonly code: string | undefined;
  /** As `caps.filesystem.read` names them. */
  readonly paths: readonly string[];
  /** Taken from the host's environment; null where they are not set there. */
  readonly passed: { readonly [name: string]: string | null };
  readonly config: JsonObject;
}

/** Without `readInputs`, a program that may read files has no run. */
export function withReads(
  inputs: RunInputs,
  { code, paths, passed, config }: ProgramInputs,
  readInputs: ReadInputs | undefined,
): RunInputs {
  const found = paths.length === 0 ? { digests: {} } : (readInputs?.(paths) ?? NOBODY);
  if ('why' in found) return { ...inputs, unknown: found.why };
  const hash = (value: object) => digest('params/v1', canonicalJson(value));
  const reads: JsonObject = {
    ...(code === undefined ? {} : { pack: code }),
    ...(paths.length === 0 ? {} : { files: found.digests }),
    ...(Object.keys(passed).length === 0 ? {} : { env: hash(passed) }),
    ...(Object.keys(config).length === 0 ? {} : { config: hash(config) }),
  };
  return Object.keys(reads).length === 0 ? inputs : { ...inputs, reads };
}

const NOBODY = { why: 'nobody is there to read what caps.filesystem.read names' };
