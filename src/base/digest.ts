// Owns: every hash in Haft: plain SHA-256 of content, and the typed digest whose framing keeps two kinds of bytes from colliding.
// Refuses: other algorithms, shortened digests, and loading node:crypto (6 ms of a cold start) before that pays.

/** What a digest is of. A new shape of body is a new version here. */
type DigestType =
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

interface Sha256 {
  update(bytes: Uint8Array): void;
  /** The digest in lowercase hex. Ends the hash. */
  hex(): string;
}

export function createJsSha256(): Sha256 {
  const state = Int32Array.from(INITIAL);
  const schedule = new Int32Array(64);
  const block = new Uint8Array(64);
  let filled = 0;
  let total = 0;
  return {
    update(bytes) {
      total += bytes.length;
      let at = 0;
      if (filled > 0) {
        at = Math.min(64 - filled, bytes.length);
        block.set(bytes.subarray(0, at), filled);
        filled += at;
        if (filled < 64) return;
        compress(state, schedule, block, 0);
      }
      for (; at + 64 <= bytes.length; at += 64) compress(state, schedule, bytes, at);
      block.set(bytes.subarray(at));
      filled = bytes.length - at;
    },
    hex() {
      block.fill(0, filled);
      block[filled] = 0x80;
      if (filled >= 56) {
        compress(state, schedule, block, 0);
        block.fill(0);
      }
      const length = new DataView(block.buffer);
      length.setUint32(56, Math.floor(total / 0x2000_0000));
      length.setUint32(60, total << 3);
      compress(state, schedule, block, 0);
      return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
    },
  };
}

/**
 * One round of 64 bytes. The names are those of FIPS 180-4, section 6.2.2. Every sum is cut at once: a number that does not
 * fit into 32 bits is an object on the heap until V8 has compiled this, and a start has little room for those.
 */
function compress(state: Int32Array, w: Int32Array, bytes: Uint8Array, at: number): void {
  for (let t = 0; t < 16; t++) {
    const i = at + t * 4;
    w[t] = (bytes[i]! << 24) | (bytes[i + 1]! << 16) | (bytes[i + 2]! << 8) | bytes[i + 3]!;
  }
  for (let t = 16; t < 64; t++) {
    const x = w[t - 15]!;
    const y = w[t - 2]!;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[t] = (((w[t - 16]! + s0) | 0) + ((w[t - 7]! + s1) | 0)) | 0;
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let t = 0; t < 64; t++) {
    const big1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (((((h + big1) | 0) + ((e & f) ^ (~e & g))) | 0) + ((K[t]! + w[t]!) | 0)) | 0;
    const big0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
  state[5]! += f;
  state[6]! += g;
  state[7]! += h;
}

const INITIAL = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

// biome-ignore format: eight a row, as in the standard
const K = Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
);
