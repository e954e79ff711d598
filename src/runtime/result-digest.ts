// Owns: the digest by which the audit, a bundle and a verification know what a run answered.
// Refuses: spelling: equal answers have equal digests, whatever the order of their fields.
import { canonicalJson } from '../base/canonical-json.ts';
import { sha256Hex } from '../base/digest.ts';
import { isFailure } from '../contract/errors.ts';

/** Plain SHA-256 of its canonical JSON, which is what `result.json` of a bundle holds. Undefined where it has none. */
export function resultDigest(data: unknown): `sha256:${string}` | undefined {
  try {
    return `sha256:${sha256Hex(canonicalJson(data))}`;
  } catch (thrown) {
    if (isFailure(thrown)) return undefined;
    throw thrown;
  }
}
