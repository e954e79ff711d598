// Owns: proofs of a workspace: signed with this host's key, which no workspace holds.
// Refuses: to make a key before somebody wants a signature.
import { verifyConsistency } from '../base/merkle.ts';
import type { TarSource } from '../base/tar.ts';
import type { BundleVerdict, PublicKey, Signer } from '../contract/bundle.ts';
import { fail } from '../contract/errors.ts';
import type { Runtime } from '../contract/runtime.ts';
import {
  buildAuditTree,
  checkpointOf,
  createSigner,
  openCheckpoint,
  readPublicKey,
  writePublicKey,
} from '../runtime/proof/checkpoint.ts';
import { exportBundle, gatherRun } from '../runtime/proof/export-bundle.ts';
import { verifyBundle } from '../runtime/proof/verify-bundle.ts';
import { ensureHostKey } from '../stores/machine/host-key.ts';
import type { DefaultRuntime } from './default.ts';

type Env = { readonly [name: string]: string | undefined };

const signerOf = (workspace: string, env: Env): Signer => createSigner(ensureHostKey({ workspace, env }));

/** The bundle of a run that succeeded, piece by piece. */
export async function* exportRun(
  runtime: DefaultRuntime,
  runId: string,
  env: Env = process.env,
): AsyncGenerator<Uint8Array> {
  const run = await gatherRun(runId, runtime);
  const artifacts = await runtime.artifacts();
  yield* exportBundle(run, { artifacts, audit: runtime.audit, signer: signerOf(runtime.workspace, env) });
}

/** `key` is a line as `haft audit checkpoint --key` prints it. */
export function checkBundle(source: TarSource, key: string | undefined): Promise<BundleVerdict> {
  return verifyBundle(source, key === undefined ? {} : { key: knownKey(key) });
}

function knownKey(line: string): PublicKey {
  try {
    return readPublicKey(line);
  } catch {
    throw fail('usage', 'Cannot use the key: it is not one as "haft audit checkpoint --key" prints it');
  }
}

export interface SignedHead {
  /** A signed note. */
  readonly checkpoint: string;
  /** What others check it with. */
  readonly key: string;
  readonly size: number;
}

/** The audit as it stands now, signed. */
export async function signAudit(
  runtime: Pick<Runtime, 'audit'>,
  workspace: string,
  env: Env = process.env,
): Promise<SignedHead> {
  const signer = signerOf(workspace, env);
  const { count } = await runtime.audit.head();
  const built = await buildAuditTree(runtime.audit, count);
  const key = writePublicKey(built.origin, signer.publicKey);
  return { checkpoint: checkpointOf(built, signer), key, size: count };
}

/** Throws unless the audit continues the one that this host signed the checkpoint of; answers how many rows came since. */
export async function checkAudit(
  { audit }: Pick<Runtime, 'audit'>,
  note: string,
  workspace: string,
  env: Env = process.env,
): Promise<{ readonly kept: number; readonly size: number }> {
  const { publicKey } = signerOf(workspace, env);
  const kept = openCheckpoint(note, publicKey);
  const { count } = await audit.head();
  if (kept.size > count)
    throw broken(`it has ${count} rows, and the checkpoint counts ${kept.size}: its tail was cut off`);
  const { tree, origin } = await buildAuditTree(audit, count);
  const claim = { earlier: kept.size, earlierRoot: kept.root, size: count, root: tree.root() };
  const proof = tree.proveConsistency(kept.size);
  if (origin !== kept.origin || !verifyConsistency({ ...claim, proof }))
    throw broken(`its first ${kept.size} rows are not those of the checkpoint: it was rewritten`);
  return { kept: kept.size, size: count };
}

function broken(fact: string): Error {
  return fail('audit.broken', `Cannot trust the audit: ${fact}`);
}
