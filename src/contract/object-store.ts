// Owns: the interface of the content-addressed store that undo, spills, artifacts and runs share.
// Refuses: types, labels and owners; those belong to the link between a run and an object.

/** `sha256:<64 hex>`: the plain sha256 of the bytes, equal to what `sha256sum` prints. */
export type ObjectId = `sha256:${string}`;

/** Bytes that can be read at any place: an open file. */
export interface ByteSource {
  /** Fills `into` from this position on; answers how many bytes there were, 0 at the end. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** A path by which this process reaches the very file that is open, so that the file system may share its blocks. */
  readonly clonePath?: string;
}

export interface StoredObject {
  readonly id: ObjectId;
  readonly size: number;
}

/** An object as a sweep sees it. */
export interface ObjectUse extends StoredObject {
  /** When somebody last stored it, or said with `touch` that it is about to be referred to. */
  readonly usedTs: number;
}

export interface ObjectStore {
  /** Stores bytes durably (file and directory synced) and answers their name. Storing twice costs nothing. */
  put(bytes: Uint8Array): Promise<ObjectId>;
  /** The same for a stream of unknown length. */
  putStream(chunks: AsyncIterable<Uint8Array>): Promise<StoredObject>;
  /** The same for an open file; what is hashed is what was stored, whoever writes to the file meanwhile. */
  putFile(source: ByteSource, signal?: AbortSignal): Promise<StoredObject>;
  /** The bytes, verified against the name: throws `object.missing` or `object.corrupt`. */
  get(id: ObjectId): Promise<Uint8Array>;
  /** A part of the bytes. The whole is verified, once for as long as nobody touches the file. */
  getRange(id: ObjectId, start: number, end: number): Promise<Uint8Array>;
  /** A verified copy (sharing blocks where the file system can) at an absolute path where nothing may be yet. */
  copyTo(id: ObjectId, path: string, mode: number): Promise<void>;
  /** Size in bytes, or undefined when absent. */
  size(id: ObjectId): Promise<number | undefined>;
  /** Re-hashes the stored bytes. */
  verify(id: ObjectId): Promise<'ok' | 'missing' | 'corrupt'>;
  /**
   * A lease: whoever is about to refer to objects that somebody else may have stored says so first, and looks whether they
   * are there only then. From then on `discard` leaves them alone until the lease is older than its `unusedSince`.
   */
  touch(ids: readonly ObjectId[]): Promise<void>;
  /** Every object there is, in no order. */
  list(): AsyncIterable<ObjectUse>;
  /** Removes those of them that nobody used since; answers which. Safe against whoever stores or touches one meanwhile. */
  discard(ids: readonly ObjectId[], unusedSince: number): Promise<readonly ObjectId[]>;
}
