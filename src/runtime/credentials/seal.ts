// Owns: turning a secret into what may lie on a disk, and back: AES-256-GCM, bound to whose it is.
// Refuses: to open what was sealed with another key, for somebody else, or changed since; and it says which of them.
import { canonicalText } from '../../base/canonical-json.ts';
import type { CredentialListing, SealedCredential, Secret } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';

export interface Sealer {
  readonly keyId: string;
  seal(listing: CredentialListing, secret: Secret): SealedCredential;
  open(sealed: SealedCredential): Secret;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `key` is the host's; what is used here is derived from it, so that another use of that key says nothing about this one. */
export function createSealer(key: Uint8Array): Sealer {
  const crypto = process.getBuiltinModule('node:crypto');
  const derive = (use: string, bytes: number) => Buffer.from(crypto.hkdfSync('sha256', key, '', use, bytes));
  const sealing = derive('haft credentials v1', 32);
  const keyId = derive('haft credentials v1 key id', 8).toString('hex');
  return {
    keyId,
    seal(listing, secret) {
      const nonce = crypto.randomBytes(NONCE_BYTES);
      const cipher = crypto.createCipheriv('aes-256-gcm', sealing, nonce);
      cipher.setAAD(boundTo({ ...listing, keyId }));
      const sealed = Buffer.concat([cipher.update(canonicalText(secret), 'utf8'), cipher.final()]);
      const box = Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
      const { provider, owner, fields, createdTs, updatedTs } = listing;
      return { provider, owner, fields, createdTs, updatedTs, keyId, box };
    },
    open(row) {
      const action = `Cannot open the credential of "${row.provider}"`;
      const bytes = Buffer.from(row.box, 'base64');
      if (bytes.length > NONCE_BYTES + TAG_BYTES && row.keyId !== keyId) {
        throw fail(
          'credentials.key',
          `${action}: it was encrypted with another key than this host's; set it again`,
        );
      }
      try {
        const nonce = bytes.subarray(0, NONCE_BYTES);
        const decipher = crypto.createDecipheriv('aes-256-gcm', sealing, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(boundTo(row));
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const sealed = bytes.subarray(NONCE_BYTES + TAG_BYTES);
        return JSON.parse(Buffer.concat([decipher.update(sealed), decipher.final()]).toString('utf8'));
      } catch {
        throw fail('credentials.tampered', `${action}: it is damaged or was changed; set it again`);
      }
    },
  };
}

/** Everything of the row that is not in the box. */
function boundTo(row: CredentialListing & { readonly keyId: string }): Buffer {
  const { provider, owner, fields, createdTs, updatedTs, keyId } = row;
  return Buffer.from(canonicalText({ provider, owner, fields, createdTs, updatedTs, keyId }));
}
