// Owns: what the object store asks of the place where it keeps its small objects.
// Refuses: to name that place; a store offers it, and the preset brings the two together.

/** Objects by the sha256 of their bytes, in hex. */
export interface SmallObjects {
  /** Resolves once the bytes are durable. */
  put(sha256: string, bytes: Uint8Array): Promise<void>;
  get(sha256: string): Promise<Uint8Array | undefined>;
  size(sha256: string): Promise<number | undefined>;
}
