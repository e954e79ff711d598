// Owns: what the object store asks of a database: to keep its small objects, and when each of its files was last used.
// Refuses: to name that database; a store offers it, and the preset brings the two together.

/** Objects by the sha256 of their bytes, in hex. */
export interface SmallObjects {
  /** Resolves once the bytes are durable. They count as used just now. */
  put(sha256: string, bytes: Uint8Array): Promise<void>;
  get(sha256: string): Promise<Uint8Array | undefined>;
  size(sha256: string): Promise<number | undefined>;
  /** Of those that are there: they were used just now. */
  touch(sha256s: readonly string[]): Promise<void>;
  /** Some at a time: there may be very many. */
  all(): AsyncIterable<
    readonly { readonly sha256: string; readonly size: number; readonly usedTs: number }[]
  >;
  /** Removes those that nobody used since; answers which. */
  release(sha256s: readonly string[], unusedSince: number): Promise<readonly string[]>;
}

/** Objects by the sha256 of their bytes, in hex. */
export interface ObjectUses {
  /** Resolves once every process can see that these were used just now. */
  touch(sha256s: readonly string[]): Promise<void>;
  /** When each was last used. */
  all(): Promise<ReadonlyMap<string, number>>;
  /**
   * Removes those that nobody used since, by `remove`, while nobody can touch one. `remove` is synchronous and quick, and
   * answers whether there was something to remove.
   */
  release(
    sha256s: readonly string[],
    unusedSince: number,
    remove: (sha256: string) => boolean,
  ): Promise<readonly string[]>;
}
