// Owns: signed checkpoints of the audit: how many rows, the Merkle root over them, and this host's Ed25519 signature, as a note that people can keep.
// Refuses: notes of another form, signatures of other keys, and to judge the rows: whether they are those that were written is `audit verify`.
import { sha256Hex } from '../../base/digest.ts';
import { createMerkleTree, leafHash, type MerkleTree } from '../../base/merkle.ts';
import type { PublicKey, Signer } from '../../contract/bundle.ts';
import { fail } from '../../contract/errors.ts';
import type { AuditStore } from '../../contract/store.ts';
import { altered } from './bundle-files.ts';

/** https://c2sp.org/tlog-checkpoint: an origin, a size and a root; signed as https://c2sp.org/signed-note. */
interface Checkpoint {
  /** Which log it is of. */
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

const ED25519 = 1;

/** The audit of a workspace is known by the hash of its first row. */
export const originOf = (firstHash: string): string => `haft-audit/${firstHash.slice(0, 32)}`;

export function signCheckpoint(checkpoint: Checkpoint, { publicKey, sign }: Signer): string {
  const { origin, size, root } = checkpoint;
  const body = `${origin}\n${size}\n${base64(root)}\n`;
  const signature = Buffer.concat([noteKeyHash(origin, publicKey), sign(Buffer.from(body))]);
  return `${body}\n\u2014 ${origin} ${signature.toString('base64')}\n`;
}

const FORM =
  /^([\x21-\x2a\x2c-\x7e]{1,200})\n(0|[1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\n\n\u2014 (\S{1,200}) ([A-Za-z0-9+/]{91}=)\n$/;

/** What a note says, if this key signed it. Throws `bundle.altered`. */
export function openCheckpoint(note: string, key: PublicKey): Checkpoint {
  const match = FORM.exec(note);
  if (!match) throw altered('it is not a signed checkpoint');
  const [origin = '', size, root = '', name, signed = ''] = match.slice(1);
  const signature = Buffer.from(signed, 'base64');
  const body = note.slice(0, note.indexOf('\n\n') + 1);
  if (signature.toString('base64') !== signed) throw altered('its signature is not written as it was');
  const isOurs = name === origin && signature.subarray(0, 4).equals(noteKeyHash(origin, key));
  if (!isOurs) throw altered('another key signed it, or another log is meant');
  if (!key.verify(Buffer.from(body), signature.subarray(4))) throw altered('its signature does not match');
  return { origin, size: Number(size), root: Buffer.from(root, 'base64') };
}

/** As notes name keys: `origin+hash+key`. */
export function writePublicKey(origin: string, key: PublicKey): string {
  const typed = Buffer.concat([Buffer.of(ED25519), key.bytes]);
  return `${origin}+${noteKeyHash(origin, key).toString('hex')}+${typed.toString('base64')}`;
}

/** The key that such a line names; throws `bundle.altered` for anything else. */
export function readPublicKey(line: string): PublicKey {
  const match = /^([\x21-\x2a\x2c-\x7e]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/.exec(line.trim());
  const typed = Buffer.from(match?.[3] ?? '', 'base64');
  if (!match || typed.length !== KEY_BYTES + 1 || typed[0] !== ED25519)
    throw altered('it is not a public key');
  const key = publicKeyOf(typed.subarray(1));
  if (noteKeyHash(match[1]!, key).toString('hex') !== match[2]) throw altered('it is not a public key');
  return key;
}

/** Four bytes that tell keys apart; not a security measure. */
function noteKeyHash(name: string, key: PublicKey): Buffer {
  const { createHash } = process.getBuiltinModule('node:crypto');
  const named = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), key.bytes]);
  return createHash('sha256').update(named).digest().subarray(0, 4);
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

/** What stands before the 32 bytes of a key in PKCS #8 and SPKI (RFC 8410). */
const PRIVATE = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC = Buffer.from('302a300506032b6570032100', 'hex');
const KEY_BYTES = 32;

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

function publicKeyOf(bytes: Uint8Array): PublicKey {
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

interface AuditTree {
  readonly tree: MerkleTree;
  readonly origin: string;
}

/** Over the first `count` rows. A leaf is the hash of a row, as bytes. */
export async function buildAuditTree(audit: Pick<AuditStore, 'hashes'>, count: number): Promise<AuditTree> {
  const tree = createMerkleTree();
  let first = '';
  for await (const hashes of audit.hashes(count)) {
    for (const hash of hashes) {
      first ||= hash;
      tree.append(auditLeaf(hash));
    }
  }
  if (count === 0 || tree.size !== count)
    throw fail('audit.broken', `Cannot prove anything about ${count} rows of the audit: it has ${tree.size}`);
  return { tree, origin: originOf(first) };
}

export const auditLeaf = (rowHash: string): Uint8Array => leafHash(Buffer.from(rowHash, 'hex'));

/** A signed checkpoint of that tree. */
export function checkpointOf({ tree, origin }: AuditTree, signer: Signer): string {
  return signCheckpoint({ origin, size: tree.size, root: tree.root() }, signer);
}
