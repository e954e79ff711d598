// Owns: artifacts over an object store and the rows that register them: import, read, verify, hold, copy, sweep.
// Refuses: to register what is not durable yet, and to answer for objects that nobody registered.
import { decodeTree, type TreeEntry } from '../../base/tree-manifest.ts';
import type { Artifact, ArtifactRows, ArtifactStore } from '../../contract/artifacts.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { ObjectId, ObjectStore, StoredObject } from '../../contract/object-store.ts';
import { importTree } from './import-tree.ts';
import { materialiseTree, READ_ONLY, setTime } from './materialise.ts';
import { openPath } from './open-path.ts';
import { refuseManifest, refuseManifests } from './refuse-manifest.ts';
import { sweepArtifacts } from './sweep-artifacts.ts';

export interface ArtifactStoreParts {
  readonly objects: ObjectStore;
  readonly rows: ArtifactRows;
  readonly clock: { now(): number };
}

/** Large enough to be worth a system call. */
const PIECE = 4 * 1024 * 1024;

export function openArtifactStore(parts: ArtifactStoreParts): ArtifactStore {
  const { objects, rows } = parts;

  const registerFile = ({ id, size }: StoredObject): Promise<Artifact> =>
    rows.register({ id, kind: 'file', size, files: 1 });

  const known = async (id: ObjectId): Promise<Artifact> => {
    const artifact = await rows.get(id);
    if (!artifact) throw fail('artifact.unknown', `Cannot find ${shown(id)}: there is no such artifact`);
    return artifact;
  };

  const entriesOf = async (id: ObjectId): Promise<readonly TreeEntry[]> => decodeTree(await objects.get(id));

  const entries: ArtifactStore['entries'] = async (id) => {
    const { kind } = await known(id);
    if (kind !== 'tree') throw fail('input.range', `Cannot list ${id}: it is a file, not a tree`);
    return entriesOf(id);
  };

  /** The object that holds the bytes which are meant. */
  const fileOf = async (id: ObjectId, path: string | undefined): Promise<StoredObject> => {
    const { kind, size } = await known(id);
    if (kind === 'file') {
      if (path === undefined) return { id, size };
      throw fail('path.not_found', `Cannot read "${path}" in ${id}: it is a file, not a tree`);
    }
    if (path === undefined)
      throw fail('path.is_directory', `Cannot read ${id}: it is a tree; name one of its files by path`);
    const entry = (await entriesOf(id)).find((one) => one.path === path);
    if (entry?.type === 'file') return { id: `sha256:${entry.sha256}`, size: entry.size };
    const fact = entry ? 'it is a folder' : 'there is no such file';
    throw fail(entry ? 'path.is_directory' : 'path.not_found', `Cannot read "${path}" in ${id}: ${fact}`);
  };

  /** Every object of these artifacts, touched: from here on no sweep takes one. */
  const touchAll = async (artifacts: readonly Artifact[]): Promise<readonly ObjectId[]> => {
    const ids = artifacts.map(({ id }) => id);
    await Promise.all([rows.use(ids), objects.touch(ids)]);
    const inTrees: ObjectId[] = [];
    for (const { id, kind } of artifacts) {
      if (kind !== 'tree') continue;
      for (const entry of await entriesOf(id))
        if (entry.type === 'file') inTrees.push(`sha256:${entry.sha256}`);
    }
    if (inTrees.length > 0) await objects.touch(inTrees);
    return [...ids, ...inTrees];
  };

  const store: ArtifactStore = {
    async importBytes(bytes) {
      refuseManifest(bytes);
      return registerFile({ id: await objects.put(bytes), size: bytes.length });
    },
    importStream: async (chunks) => registerFile(await objects.putStream(refuseManifests(chunks))),
    async importFile(file, signal) {
      const head = new Uint8Array(64);
      refuseManifest(head.subarray(0, await file.read(head, 0)));
      return registerFile(await objects.putFile(file, signal));
    },
    importTree: (items, signal) => importTree(items, parts, signal),
    async importPath(path, signal) {
      const found = await openPath(path, signal);
      if ('items' in found) return importTree(found.items, parts, signal);
      try {
        return await store.importFile(found.file, signal);
      } finally {
        await found.file.close();
      }
    },
    get: (id) => rows.get(id),
    list: (query) => rows.list(query),
    entries,
    async read(id, { path, start = 0, end } = {}) {
      const { id: object, size } = await fileOf(id, path);
      if (start > size || (end !== undefined && end < start)) throw noRange(path ?? id, start, end, size);
      return { bytes: await objects.getRange(object, start, end ?? size), size };
    },
    async *stream(id, path) {
      const { id: object, size } = await fileOf(id, path);
      for (let at = 0; at < size; at += PIECE) yield await objects.getRange(object, at, at + PIECE);
    },
    async hold(ids) {
      const artifacts: Artifact[] = [];
      for (const id of ids) artifacts.push(await known(id));
      for (const id of await touchAll(artifacts)) {
        if ((await objects.size(id)) === undefined)
          throw fail('object.missing', `Cannot use ${id}: its bytes are gone; import it again`);
      }
      // One that was forgotten before it was touched is not registered any more.
      for (const id of ids) await known(id);
      return artifacts;
    },
    async verify(id) {
      const { kind } = await known(id);
      const state = await objects.verify(id);
      if (state !== 'ok' || kind === 'file') return { state };
      for (const entry of await entriesOf(id)) {
        if (entry.type === 'dir') continue;
        const inside = await objects.verify(`sha256:${entry.sha256}`);
        if (inside !== 'ok') return { state: inside, path: entry.path };
      }
      return { state };
    },
    async materialise(id, path) {
      const { kind } = await known(id);
      if (kind === 'tree') return materialiseTree(await entriesOf(id), path, objects);
      await objects.copyTo(id, path, READ_ONLY);
      await setTime(path);
    },
    sweep: (options) => sweepArtifacts(options, parts),
  };
  return store;
}

function noRange(name: string, start: number, end: number | undefined, size: number): Failure {
  const fact =
    start > size
      ? `byte ${start} lies outside of its ${size} bytes`
      : `byte ${end} lies before byte ${start}`;
  return fail('input.range', `Cannot read ${shown(name)}: ${fact}`, { size });
}

/** What callers send may be anything. */
const shown = (id: string): string => JSON.stringify(id.slice(0, 80));
