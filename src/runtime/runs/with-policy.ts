// Owns: what a run's id stands for, with the policy in it told as policy.
// Refuses: to compare; explain-runs.ts does.
import type { JsonObject } from '../../contract/json.ts';
import type { RunSite } from './run-site.ts';

/** What the policy's hash stands for is what people know; the hash alone where that is not kept. */
export async function withPolicy(site: RunSite, preimage: JsonObject): Promise<JsonObject> {
  const policy = await site.policyOf?.(String(preimage.policyHash));
  return policy === undefined ? preimage : { ...preimage, policy };
}
