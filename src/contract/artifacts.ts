// Owns: artifacts: immutable bytes or trees that runs read and make, how they are kept, found, read and let go of.
// Refuses: types, labels and roles; those belong to the link between a run and an artifact, so equal bytes are kept once.
import type { TreeEntry } from '../base/tree-manifest.ts';
import type { MaybePromise } from './json.ts';
import type { ByteSource, ObjectId } from './object-store.ts';

/**
 * What is registered. A file's id is the SHA-256 of its bytes; a tree's is its `tree/v1` digest, which is the SHA-256 of
 * the manifest that the object store holds for it.
 */
export interface Artifact {
  readonly id: ObjectId;
  readonly kind: 'file' | 'tree';
  /** Bytes; of a tree those of all its files. */
  readonly size: number;
  /** How many files a tree has; 1 for a file. */
  readonly files: number;
  readonly createdTs: number;
  /** When it was last imported, made or held. */
  readonly usedTs: number;
  /** Of what a run made: the newest link. Type and label are the link's, not those of the bytes. */
  readonly madeBy?: ArtifactLink;
}

/** An artifact as an output of a run. */
export interface ArtifactLink {
  readonly runId: string;
  readonly role: string;
  readonly type: string;
  readonly label: string;
}

// --------------------------------------------------------------------------------------------- in the store

/** The part of the store that knows which objects are artifacts, and what else refers to objects. */
export interface ArtifactRows {
  /** Registers what the object store holds by now, or says that it was used again. Durable when it resolves. */
  register(artifact: Pick<Artifact, 'id' | 'kind' | 'size' | 'files'>): Promise<Artifact>;
  get(id: ObjectId): Promise<Artifact | undefined>;
  /** Newest first. */
  list(query: ArtifactQuery): Promise<readonly Artifact[]>;
  /** Of those that are registered: they were used just now. */
  use(ids: readonly ObjectId[]): Promise<void>;
  /** Durably forgets those that nobody used since; answers which. Their bytes stay until they are discarded. */
  forget(ids: readonly ObjectId[], unusedSince: number): Promise<readonly ObjectId[]>;
  /**
   * What calls and runs refer to, a few at a time: pre-images of calls since then (and after that row of the audit), inputs and
   * outputs of runs.
   */
  roots(undoSince: number, undoAfter?: number): AsyncIterable<readonly ObjectId[]>;
}

export interface ArtifactQuery {
  readonly limit: number;
  /** Only what was registered before this one. */
  readonly before?: ObjectId;
  readonly kind?: Artifact['kind'];
}

// --------------------------------------------------------------------------------------------- for hosts and runs

/** A file that is open for import. */
export interface OpenFile extends ByteSource {
  readonly size: number;
  readonly executable: boolean;
  close(): MaybePromise<void>;
}

/** An entry of a folder that is imported; each file is opened when its turn comes. */
export type TreeItem =
  | { readonly type: 'dir'; readonly path: string }
  | { readonly type: 'file'; readonly path: string; open(): MaybePromise<OpenFile> };

/** Whoever has this may import and read anything; `ctx.artifacts` is the guarded view of it. */
export interface ArtifactStore {
  /** Registers bytes: stored durably first, and only then known. Importing twice keeps one copy. */
  importBytes(bytes: Uint8Array): Promise<Artifact>;
  importStream(chunks: AsyncIterable<Uint8Array>): Promise<Artifact>;
  importFile(file: OpenFile, signal?: AbortSignal): Promise<Artifact>;
  /** All or nothing. Folders need not come before what is in them. */
  importTree(items: readonly TreeItem[], signal?: AbortSignal): Promise<Artifact>;
  /** A file or a folder of this machine, by its absolute path. Links, devices and the like refuse the whole. */
  importPath(path: string, signal?: AbortSignal): Promise<Artifact>;

  /** Undefined where nothing of this id is registered: not every object is an artifact. */
  get(id: ObjectId): Promise<Artifact | undefined>;
  list(query: ArtifactQuery): Promise<readonly Artifact[]>;
  /** What is in a tree; throws `object.missing` for what is not registered and `input.range` for a file. */
  entries(id: ObjectId): Promise<readonly TreeEntry[]>;
  /** Verified bytes of a file, or of a file in a tree. */
  read(id: ObjectId, part?: ArtifactPart): Promise<ArtifactContent>;
  /** The same, all of it, a piece at a time. */
  stream(id: ObjectId, path?: string): AsyncIterable<Uint8Array>;
  /**
   * A lease on artifacts that are about to be referred to: throws `object.missing` unless each is registered and its bytes
   * are there, and keeps a sweep from them for an hour. Their bytes are not verified.
   */
  hold(ids: readonly ObjectId[]): Promise<readonly Artifact[]>;
  /** Re-hashes everything. */
  verify(id: ObjectId): Promise<ArtifactVerdict>;
  /**
   * Writes a verified copy to an absolute path where nothing may be yet, sharing blocks where the file system can: files
   * read-only, times the same everywhere.
   */
  materialise(id: ObjectId, path: string): Promise<void>;
  /** Removes what nothing refers to and nobody used for a while. Safe beside imports of other processes. */
  sweep(options: SweepOptions): Promise<SweepReport>;
}

export interface ArtifactPart {
  /** The file in a tree. */
  readonly path?: string;
  /** Bytes from here on, and up to there without it; an `end` beyond the end is the end. Other ranges are `input.range`. */
  readonly start?: number;
  readonly end?: number;
}

export interface ArtifactContent {
  readonly bytes: Uint8Array;
  /** Of the whole file. */
  readonly size: number;
}

export interface ArtifactVerdict {
  readonly state: 'ok' | 'missing' | 'corrupt';
  /** The file in a tree that is not as it was. */
  readonly path?: string;
}

/** Whoever stores an object has this long to refer to it: no sweep takes anything that was used since. */
export const SHORTEST_LEASE_MS = 60 * 60 * 1000;

export interface SweepOptions {
  /** At least `SHORTEST_LEASE_MS`. */
  readonly unusedForMs: number;
  /** For how long calls can be undone; all of them, by default. */
  readonly undoForMs?: number;
  /** Only calls after this row of the audit can be undone. */
  readonly undoAfter?: number;
  /** Every artifact stays, however long nobody used it: only what is no artifact can go. */
  readonly keepArtifacts?: boolean;
  /** Say what would go, and let nothing go. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

export interface SweepReport {
  /** Artifacts that were let go of. */
  readonly artifacts: readonly ObjectId[];
  readonly removed: { readonly objects: number; readonly bytes: number };
  readonly kept: { readonly objects: number; readonly bytes: number };
}

// --------------------------------------------------------------------------------------------- for tools

/** `ctx.artifacts`: every path is admitted like one of `ctx.fs`, and every artifact by the effects of the call. */
export interface ArtifactsHandle {
  importBytes(bytes: Uint8Array): Promise<Artifact>;
  /** A file or a folder of the workspace. */
  importPath(path: string): Promise<Artifact>;
  /** Throws `object.missing` where nothing of this id is registered. */
  get(id: ObjectId): Promise<Artifact>;
  list(query: ArtifactQuery): Promise<readonly Artifact[]>;
  entries(id: ObjectId): Promise<readonly TreeEntry[]>;
  read(id: ObjectId, part?: ArtifactPart): Promise<ArtifactContent>;
}
