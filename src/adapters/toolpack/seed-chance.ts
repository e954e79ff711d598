// Owns: chance as a toolpack's process sees it: one fixed stream for each question, whose every bit is another one in the other world.
// Refuses: chance that cannot be seeded, such as new keys: that is withheld.

/** How far one question has drawn. */
export interface Chance {
  state: number;
}

/**
 * Shipped to that process as its own text: it may refer to nothing outside of itself. `flip`: every bit is the other one.
 * Begins each stream with `state` 0.
 */
export function seedChance(flip: boolean, current: () => Chance): void {
  type Table = Record<string, unknown>;
  type Fn = (...args: never[]) => unknown;
  // The first draws lie near 0, so that of a draw and its complement one is below any usual threshold; and their first bytes differ
  // from their complements modulo every number below 50.
  const SEED = 0x3d83_9350;
  const crypto = process.getBuiltinModule('node:crypto') as unknown as Table;
  const { imul, floor } = Math;
  const { apply, getPrototypeOf } = Reflect;
  const { nextTick } = process;
  const { isView } = ArrayBuffer;
  const Bytes = Uint8Array;
  const RealError = Error;
  const draw = (): number => {
    const stream = current();
    stream.state = (stream.state + 0x6d2b_79f5) | 0;
    const state = (stream.state + SEED) | 0;
    let mixed = imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const bits = (): number => (flip ? ~draw() >>> 0 : draw());
  const fill = (into: ArrayBufferView | ArrayBuffer, from = 0, to = into.byteLength): void => {
    const bytes = isView(into) ? new Bytes(into.buffer, into.byteOffset, into.byteLength) : new Bytes(into);
    for (let at = from; at < to; at++) bytes[at] = bits() >>> 24;
  };
  const put = (target: object, values: Table): void => {
    for (const [key, value] of Object.entries(values))
      Object.defineProperty(target, key, { value, configurable: true, enumerable: true, writable: true });
  };
  const withhold = (target: object, name: string, keys: string): void => {
    for (const key of keys.split(' '))
      put(target, {
        [key]: function withheld(): never {
          const error = new RealError(
            `Cannot use ${name}.${key} in a toolpack: what it answers is chance, which no answer may depend on`,
          ) as NodeJS.ErrnoException;
          error.code = 'ERR_WITHHELD';
          throw error;
        },
      });
  };
  /** The real one is asked first: it refuses wrong arguments as ever. */
  const real = (target: object, key: string): ((self: unknown, args: ArrayLike<unknown>) => unknown) => {
    const fn = (target as Table)[key] as Fn;
    return (self, args) => apply(fn, self, args as never);
  };
  const later = (done: unknown, value: unknown): void =>
    void nextTick(done as Fn, ...([null, value] as never[]));

  put(Math, { random: () => ((bits() >>> 5) * 2 ** 26 + (bits() >>> 6)) / 2 ** 53 });

  const bytesOf = real(crypto, 'randomBytes');
  const randomBytes = (size: unknown, done?: unknown): unknown => {
    if (done !== undefined && typeof done !== 'function') return bytesOf(crypto, [size, done]);
    const bytes = bytesOf(crypto, [size]) as Buffer;
    fill(bytes);
    return done === undefined ? bytes : later(done, bytes);
  };
  const fillSync = real(crypto, 'randomFillSync');
  const randomFillSync = (into: ArrayBufferView, offset?: number, size?: number): unknown => {
    fillSync(
      crypto,
      offset === undefined ? [into] : size === undefined ? [into, offset] : [into, offset, size],
    );
    const unit = (into as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1;
    const from = (offset ?? 0) * unit;
    fill(into, from, size === undefined ? into.byteLength : from + size * unit);
    return into;
  };
  const fillLater = real(crypto, 'randomFill');
  const intOf = real(crypto, 'randomInt');
  const put16 = '0123456789abcdef';
  const uuidOf = real(crypto, 'randomUUID');
  const randomUUID = (options?: unknown): string => {
    uuidOf(crypto, [options]);
    let text = '';
    for (let at = 0; at < 16; at++) {
      const drawn = bits() >>> 24;
      const byte = at === 6 ? (drawn & 0x0f) | 0x40 : at === 8 ? (drawn & 0x3f) | 0x80 : drawn;
      if (at === 4 || at === 6 || at === 8 || at === 10) text += '-';
      text += `${put16[byte >>> 4]}${put16[byte & 15]}`;
    }
    return text;
  };
  put(crypto, {
    randomBytes,
    pseudoRandomBytes: randomBytes,
    prng: randomBytes,
    rng: randomBytes,
    randomUUID,
    randomFillSync,
    randomFill(...given: [ArrayBufferView, ...unknown[]]) {
      const done = given[given.length - 1];
      if (typeof done !== 'function') return fillLater(crypto, given);
      const [at, size] = [given[1], given[2]].map((one) => (typeof one === 'number' ? one : undefined));
      return later(done, randomFillSync(given[0], at, size));
    },
    randomInt(...given: unknown[]) {
      const last = given[given.length - 1];
      const done = typeof last === 'function' ? last : undefined;
      const [min, max] = (typeof given[1] === 'number' ? given : [0, given[0]]) as [number, number];
      intOf(crypto, done || typeof given[1] === 'number' ? [min, max] : given);
      const range = max - min;
      const drawn = floor((((draw() >>> 5) * 2 ** 26 + (draw() >>> 6)) / 2 ** 53) * range);
      const other = range - 1 - drawn;
      const offset = flip ? (other === drawn ? (drawn + 1) % range : other) : drawn;
      return done ? later(done, min + offset) : min + offset;
    },
  });
  withhold(
    crypto,
    'crypto',
    'generateKey generateKeySync generateKeyPair generateKeyPairSync generatePrime generatePrimeSync createDiffieHellman createDiffieHellmanGroup getDiffieHellman createECDH DiffieHellman DiffieHellmanGroup ECDH sign createSign Sign publicEncrypt encapsulate randomUUIDv7 secureHeapUsed setEngine setFips',
  );

  const web = crypto.webcrypto as { readonly subtle: object };
  const webPrototype = getPrototypeOf(web)!;
  const valuesOf = real(webPrototype, 'getRandomValues');
  put(webPrototype, {
    getRandomValues(this: unknown, ...given: ArrayBufferView[]) {
      const into = valuesOf(this, given) as ArrayBufferView;
      fill(into);
      return into;
    },
    randomUUID,
  });
  const subtle = getPrototypeOf(web.subtle) as Table;
  withhold(subtle, 'crypto.subtle', 'generateKey wrapKey encapsulateKey encapsulateBits');
  const allow = (key: 'sign' | 'encrypt', names: string): void => {
    const asked = real(subtle, key);
    const refused: Table = {};
    withhold(refused, 'crypto.subtle', key);
    put(subtle, {
      async [key](this: unknown, algorithm: unknown, ...rest: unknown[]) {
        // Read once: it may be a getter.
        const name = typeof algorithm === 'string' ? algorithm : `${(algorithm as Table)?.name}`;
        if (!names.split(' ').includes(name.toUpperCase())) (refused[key] as Fn)();
        const given = typeof algorithm === 'string' ? name : { ...(algorithm as object), name };
        return asked(this, [given, ...rest]);
      },
    });
  };
  allow('sign', 'HMAC ED25519 RSASSA-PKCS1-V1_5');
  allow('encrypt', 'AES-CBC AES-CTR AES-GCM');
}
