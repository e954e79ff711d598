// Owns: DSSE envelopes: a payload of a type, and a signature over both.
// Refuses: to hand out a payload whose signature does not match the key.
import type { PublicKey, Signer } from '../../contract/bundle.ts';
import { fail } from '../../contract/errors.ts';

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

function altered(fact: string): Error {
  return fail('bundle.altered', `Cannot trust it: ${fact}`);
}
