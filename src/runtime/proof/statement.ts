// Owns: what a bundle attests, and its DSSE envelope: an in-toto statement with SLSA v1 provenance of the run, and the digest of every file.
// Refuses: anything that the run's own records do not say, and a payload whose signature does not match the key.
import { canonicalJson } from '../../base/canonical-json.ts';
import type { BundleRun, PublicKey, Signer } from '../../contract/bundle.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { VERSION } from '../../contract/version.ts';
import { altered } from './bundle-files.ts';

/** A file of the bundle and the SHA-256 of its bytes. */
interface FileDigest {
  readonly path: string;
  readonly sha256: string;
}

const STATEMENT = 'https://in-toto.io/Statement/v1';
const PROVENANCE = 'https://slsa.dev/provenance/v1';
const BUILD_TYPE = 'urn:haft:run:v1';

export function writeStatement(run: BundleRun, files: readonly FileDigest[], key: PublicKey): Uint8Array {
  const { runId, preimage, inputs, outputs, attempt } = run;
  const params = (preimage.params ?? {}) as JsonObject;
  const statement = {
    _type: STATEMENT,
    subject: outputs.map(({ role, artifact, type, label }) => ({
      ...descriptor(role, artifact),
      annotations: { type, label },
    })),
    predicateType: PROVENANCE,
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: {
          tool: preimage.tool ?? '',
          contractVersion: preimage.contractVersion ?? '',
          params,
        },
        internalParameters: {
          policyHash: preimage.policyHash ?? '',
          ...(attempt ? { backend: attempt.backend } : {}),
        },
        resolvedDependencies: inputs.map(({ role, artifact }) => descriptor(role, artifact)),
      },
      runDetails: {
        builder: { id: `urn:haft:host:${key.id}`, version: { haft: VERSION } },
        metadata: {
          invocationId: attempt ? `${runId}/${attempt.id}` : runId,
          ...(attempt ? { startedOn: timeOf(attempt.startedTs), finishedOn: timeOf(attempt.endedTs) } : {}),
        },
        byproducts: files.map(({ path, sha256 }) => ({ name: path, digest: { sha256 } })),
      },
    },
  };
  return canonicalJson(statement as unknown as Json);
}

/** What a verifier needs of a statement. */
export interface Attested {
  readonly runId: string;
  readonly files: ReadonlyMap<string, string>;
  readonly outputs: ReadonlyMap<string, string>;
  readonly inputs: ReadonlyMap<string, string>;
}

/** Throws `bundle.altered` for what is no statement about a run. */
export function readStatement(payload: Uint8Array): Attested {
  try {
    const { _type, predicateType, subject, predicate } = JSON.parse(Buffer.from(payload).toString('utf8'));
    const { buildDefinition, runDetails } = predicate;
    if (_type !== STATEMENT || predicateType !== PROVENANCE || buildDefinition.buildType !== BUILD_TYPE)
      throw new Error('another kind of statement');
    return {
      runId: String(runDetails.metadata.invocationId).split('/')[0]!,
      files: digestsOf(runDetails.byproducts),
      outputs: digestsOf(subject),
      inputs: digestsOf(buildDefinition.resolvedDependencies),
    };
  } catch {
    throw altered('it is not a statement about a run');
  }
}

const descriptor = (name: string, artifact: string) => ({
  name,
  digest: { sha256: artifact.slice('sha256:'.length) },
});

const digestsOf = (list: readonly { name: string; digest: { sha256: string } }[]) =>
  new Map(list.map(({ name, digest }) => [String(name), String(digest.sha256)]));

const timeOf = (ts: number): string => new Date(ts).toISOString();

const IN_TOTO = 'application/vnd.in-toto+json';

/** https://github.com/secure-systems-lab/dsse, as JSON text. */
export function writeEnvelope(payload: Uint8Array, { publicKey, sign }: Signer): string {
  const signature = sign(preAuthentication(IN_TOTO, payload));
  return writeSigned(payload, publicKey.id, signature);
}

function writeSigned(payload: Uint8Array, keyid: string, signature: Uint8Array): string {
  return `${JSON.stringify({
    payloadType: IN_TOTO,
    payload: Buffer.from(payload).toString('base64'),
    signatures: [{ keyid, sig: Buffer.from(signature).toString('base64') }],
  })}\n`;
}

/** The payload, if this key signed it. Throws `bundle.altered`. */
export function openEnvelope(text: string, key: PublicKey): Uint8Array {
  const envelope = parse(text);
  const payload = Buffer.from(envelope.payload, 'base64');
  const [signature] = envelope.signatures;
  if (envelope.payloadType !== IN_TOTO || signature?.keyid !== key.id || envelope.signatures.length !== 1)
    throw altered('another key signed it, or it is of another type');
  if (!key.verify(preAuthentication(IN_TOTO, payload), Buffer.from(signature.sig, 'base64')))
    throw altered('its signature does not match');
  // Of all the ways to write the same envelope there is one that was written.
  const written = writeSigned(payload, signature.keyid, Buffer.from(signature.sig, 'base64'));
  if (written !== text) throw altered('it is not written as it was');
  return payload;
}

interface Envelope {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

function parse(text: string): Envelope {
  try {
    const { payloadType, payload, signatures } = JSON.parse(text) as Envelope;
    const shown = signatures.map(({ keyid, sig }) => ({ keyid: String(keyid), sig: String(sig) }));
    return { payloadType: String(payloadType), payload: String(payload), signatures: shown };
  } catch {
    throw altered('it is not an envelope');
  }
}

/** What is signed: both lengths in front, so that nothing can move from one part to the other. */
function preAuthentication(type: string, payload: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]);
}
