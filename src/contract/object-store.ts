// Owns: the interface of the content-addressed store that undo, spills, artifacts and runs share.
// Refuses: types, labels and owners; those belong to the link between a run and an object.

/** `sha256:<64 hex>`: the plain sha256 of the bytes, equal to what `sha256sum` prints. */
export type ObjectId = `sha256:${string}`;

export interface ObjectStore {
  /** Stores bytes durably (file and directory synced) and answers their name. Storing twice costs nothing. */
  put(bytes: Uint8Array): Promise<ObjectId>;
  /** The same for a stream of unknown length. */
  putStream(chunks: AsyncIterable<Uint8Array>): Promise<{ readonly id: ObjectId; readonly size: number }>;
  /** The bytes, verified against the name: throws `object.missing` or `object.corrupt`. */
  get(id: ObjectId): Promise<Uint8Array>;
  /** A part of the bytes, for previews and ranges. Not verified as a whole. */
  getRange(id: ObjectId, start: number, end: number): Promise<Uint8Array>;
  /** Size in bytes, or undefined when absent. */
  size(id: ObjectId): Promise<number | undefined>;
  /** Re-hashes the stored bytes. */
  verify(id: ObjectId): Promise<'ok' | 'missing' | 'corrupt'>;
}
