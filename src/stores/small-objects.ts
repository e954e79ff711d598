// Owns: what the object store asks of the place where it keeps its small objects.
// Refuses: to name that place; a store offers it, and the preset brings the two together.

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
