// Owns: keeping the policy that a run was made under, as an object whose name is its `policy/v1` digest.
// Refuses: the whole policy; a run depends on the projection on its tool, and its key names the digest of that.
import { digestHead } from '../../base/digest.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId, ObjectStore } from '../../contract/object-store.ts';
import type { Clock } from '../../contract/runtime.ts';

/** `body` is asked for where it has to be stored: canonical JSON, whose `policy/v1` digest is `hash`. */
export type KeepPolicy = (hash: string, body: () => Uint8Array) => Promise<void>;

interface Site {
  readonly objects: Pick<ObjectStore, 'put'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** What was stored so long ago at most need not be stored again: the run that refers to it comes soon. */
const FRESH_MS = 10 * 60 * 1000;
const REMEMBERED = 1000;

export function createPolicyKeeper({ objects, clock }: Site): KeepPolicy {
  const kept = new Map<string, number>();
  return async (hash, projection) => {
    const now = clock.now();
    if (now - (kept.get(hash) ?? Number.NEGATIVE_INFINITY) < FRESH_MS) return;
    const body = projection();
    await objects.put(Buffer.concat([Buffer.from(digestHead('policy/v1', body.length)), body]));
    if (kept.size === REMEMBERED) kept.clear();
    kept.set(hash, now);
  };
}

/** The projection that has this hash, as canonical JSON. */
export async function readPolicy(objects: Pick<ObjectStore, 'get'>, hash: string): Promise<Uint8Array> {
  const id: ObjectId = `sha256:${hash}`;
  const bytes = await objects.get(id);
  // The head says how long the body is, and ends with a space.
  const head = /^haft1 9 policy\/v1 (\d{1,15}) /.exec(
    Buffer.from(bytes.subarray(0, 40)).toString('latin1'),
  )?.[0];
  if (head === undefined) throw fail('object.missing', `Cannot read ${id}: it is not a policy`);
  return bytes.subarray(head.length);
}
