// Owns: run bundles: what one is made of, who signs it, and what is found when one is checked on another machine.
// Refuses: runs as they are stored; whoever exports one brings what the bundle says about it.
import type { ArtifactStore } from './artifacts.ts';
import type { Json, JsonObject } from './json.ts';
import type { ObjectId } from './object-store.ts';
import type { LinkedOutput } from './run.ts';
import type { AuditStore } from './store.ts';

/** A run that succeeded, as a bundle tells it. */
export interface BundleRun {
  readonly runId: string;
  /** What the run id was computed from, with the params themselves. */
  readonly preimage: JsonObject;
  /** Canonical JSON of the policy's projection on the tool: its `policy/v1` digest is in the preimage. */
  readonly policy: Uint8Array;
  readonly inputs: readonly { readonly role: string; readonly artifact: ObjectId }[];
  /** With the `log`. */
  readonly outputs: readonly LinkedOutput[];
  readonly result: Json;
  /** The row of the audit that says how the call ended. */
  readonly auditSeq: number;
  readonly attempt: {
    readonly id: string;
    readonly backend: string;
    readonly startedTs: number;
    readonly endedTs: number;
  } | null;
}

export interface BundleParts {
  readonly artifacts: Pick<ArtifactStore, 'get' | 'entries' | 'read' | 'stream'>;
  readonly audit: Pick<AuditStore, 'hashes' | 'body'>;
  readonly signer: Signer;
}

/** An Ed25519 key of this host, derived from one that no workspace holds. */
export interface Signer {
  readonly publicKey: PublicKey;
  sign(bytes: Uint8Array): Uint8Array;
}

export interface PublicKey {
  /** 32 bytes. */
  readonly bytes: Uint8Array;
  /** SHA-256 of them, in hex: the `keyid` of envelopes. */
  readonly id: string;
  verify(bytes: Uint8Array, signature: Uint8Array): boolean;
}

/** One thing that is not as it was when the bundle was signed. */
export interface BundleProblem {
  /** The file in the bundle, or `archive` for what holds them together. */
  readonly part: string;
  readonly problem: string;
}

export interface BundleVerdict {
  /** Nothing was altered since it was signed. Who signed it is another question: see `trusted`. */
  readonly ok: boolean;
  readonly problems: readonly BundleProblem[];
  readonly runId: string | null;
  readonly tool: string | null;
  /** The id of the key whose signatures hold, where they do. */
  readonly signedBy: string | null;
  /** That key is the one that the verifier brought along; false where none was brought. */
  readonly trusted: boolean;
  /** What was checked, for people. */
  readonly files: number;
}
