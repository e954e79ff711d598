// Owns: every hash in Haft: plain SHA-256 of content, and the typed digest whose framing keeps two kinds of bytes from colliding.
// Refuses: other algorithms, shortened digests, and loading node:crypto (6 ms of a cold start) before that pays.
import { createJsSha256, type Sha256 } from './sha256.ts';

export type { Sha256 };

/** What a digest is of. A new shape of body is a new version here. */
export type DigestType =
  | 'params/v1'
  | 'policy/v1'
  | 'toolpack/v1'
  | 'tree/v1'
  | 'run/v1'
  | 'run/v2'
  | 'attempt/v1'
  | 'audit/v1';

/** sha256("haft1 " + len(type) + " " + type + " " + len(body) + " " + body), lengths in bytes, as lowercase hex. */
export function digest(type: DigestType, body: Uint8Array | string): string {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  const head = digestHead(type, length);
  if (typeof body === 'string') return sha256Hex(head + body);
  if (length <= ONE_SHOT) return sha256Hex(Buffer.concat([Buffer.from(head), body]));
  const hash = createSha256();
  hash.update(Buffer.from(head));
  hash.update(body);
  return hash.hex();
}

/** What stands before a body of this many bytes when it is hashed: the plain SHA-256 of both together is its digest. */
export function digestHead(type: DigestType, length: number): string {
  return `haft1 ${type.length} ${type} ${length} `;
}

/** Equal to `sha256sum` of the bytes, or of the text in UTF-8. */
export function sha256Hex(input: Uint8Array | string): string {
  const crypto = cryptoFor(input.length);
  if (crypto) return crypto.hash('sha256', input);
  const hash = createJsSha256();
  hash.update(typeof input === 'string' ? Buffer.from(input) : input);
  return hash.hex();
}

/** The same as 32 bytes. */
export function sha256Bytes(input: Uint8Array): Uint8Array {
  const crypto = cryptoFor(input.length);
  return crypto ? crypto.hash('sha256', input, 'buffer') : Buffer.from(sha256Hex(input), 'hex');
}

/** For content that comes in pieces; feed it pieces of 1 MiB or so. A piece may be reused once `update` returns. */
export function createSha256(): Sha256 {
  const waiting: Uint8Array[] = [];
  let size = 0;
  let native: { update(bytes: Uint8Array): unknown; digest(encoding: 'hex'): string } | undefined;
  return {
    update(bytes) {
      if (native === undefined && size + bytes.length > JS_BUDGET) {
        native = nativeCrypto().createHash('sha256');
        for (const piece of waiting.splice(0)) native.update(piece);
      }
      if (native) native.update(bytes);
      else waiting.push(Uint8Array.from(bytes)); // a Buffer's slice would be a view
      size += bytes.length;
    },
    hex: () => (native ? native.digest('hex') : sha256Hex(Buffer.concat(waiting))),
  };
}

/** Whether `value` is a digest in hex, as the functions here return it. */
export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

/** Up to here, copying the body behind its head is cheaper than a streaming hash. */
const ONE_SHOT = 65_536;

/** How many bytes a process hashes in JavaScript. Measured cold: 64 KiB cost 3.5 ms, loading node:crypto 5.5 ms. */
const JS_BUDGET = 65_536;

/** A short input costs as much as this one: there is always a last block, and an object to make. */
const LEAST_COST = 128;

const loadCrypto = () => process.getBuiltinModule('node:crypto');
let loaded: ReturnType<typeof loadCrypto> | undefined;
let spent = 0;

function nativeCrypto(): ReturnType<typeof loadCrypto> {
  loaded ??= loadCrypto();
  return loaded;
}

/** node:crypto, once it is loaded or this input makes loading it worth while. */
function cryptoFor(size: number): ReturnType<typeof loadCrypto> | undefined {
  if (loaded) return loaded;
  spent += Math.max(size, LEAST_COST);
  return spent > JS_BUDGET ? nativeCrypto() : undefined;
}
