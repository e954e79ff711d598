// Owns: signed checkpoints of the audit: how many rows, and the Merkle root over them, as a signed note that people can keep.
// Refuses: notes in any other form than the one that it writes, and signatures of other keys than the one given.
import type { PublicKey, Signer } from '../../contract/bundle.ts';
import { fail } from '../../contract/errors.ts';
import { KEY_BYTES, publicKeyOf } from './ed25519.ts';

/** https://c2sp.org/tlog-checkpoint: an origin, a size and a root; signed as https://c2sp.org/signed-note. */
export interface Checkpoint {
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
  const [, origin, size, root, name, signed] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
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

function altered(fact: string): Error {
  return fail('bundle.altered', `Cannot trust it: ${fact}`);
}
