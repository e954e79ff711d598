// Owns: what the object store asks of the place that remembers when each of its files was last used.
// Refuses: to name that place; a store offers it, and the preset brings the two together.

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
