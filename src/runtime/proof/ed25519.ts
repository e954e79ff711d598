// Owns: signatures of this host: an Ed25519 key derived from the host's own, and checking what another host signed.
// Refuses: to show the private part, and any other kind of key.
import { sha256Hex } from '../../base/digest.ts';
import type { PublicKey, Signer } from '../../contract/bundle.ts';

/** What stands before the 32 bytes of a key in PKCS #8 and SPKI (RFC 8410). */
const PRIVATE = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC = Buffer.from('302a300506032b6570032100', 'hex');
export const KEY_BYTES = 32;

/** `hostKey` is the host's; what signs is derived from it, so that another use of that key says nothing about this one. */
export function createSigner(hostKey: Uint8Array): Signer {
  const crypto = process.getBuiltinModule('node:crypto');
  const seed = Buffer.from(crypto.hkdfSync('sha256', hostKey, '', 'haft signatures v1', KEY_BYTES));
  const key = crypto.createPrivateKey({ key: Buffer.concat([PRIVATE, seed]), format: 'der', type: 'pkcs8' });
  const spki = crypto.createPublicKey(key).export({ format: 'der', type: 'spki' });
  return {
    publicKey: publicKeyOf(spki.subarray(PUBLIC.length)),
    sign: (bytes) => crypto.sign(null, bytes, key),
  };
}

export function publicKeyOf(bytes: Uint8Array): PublicKey {
  const crypto = process.getBuiltinModule('node:crypto');
  const key = () =>
    crypto.createPublicKey({ key: Buffer.concat([PUBLIC, bytes]), format: 'der', type: 'spki' });
  return {
    bytes: Uint8Array.from(bytes),
    id: sha256Hex(bytes),
    verify(signed, signature) {
      try {
        return crypto.verify(null, signed, key(), signature);
      } catch {
        return false;
      }
    },
  };
}
