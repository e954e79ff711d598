// Owns: what is kept of a policy that a person trusts on this machine.
// Refuses: where it is kept (stores/machine), and whether a policy is held by it (preset/trust).
import type { PolicyFile } from './policy.ts';

/** One workspace's. Kept outside of every workspace. */
export interface TrustRecord {
  /** The absolute, resolved workspace. */
  readonly folder: string;
  /** Its meaning: what a later edit is compared with. */
  readonly policy: PolicyFile;
  /** Of the bytes of haft.yaml as they were trusted; of no bytes where there was none. */
  readonly sha256: string;
  /** SHA-256 of haft.lock in Haft's own spelling; null where there was none. */
  readonly lock: string | null;
  readonly trustedTs: number;
}
