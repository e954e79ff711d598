// Owns: artifacts over an object store and the rows that register them: import, read, verify, hold, copy, sweep.
// Refuses: to register what is not durable yet, and to answer for objects that nobody registered.
import { chmod, lstat, mkdir, open, readdir, utimes } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import type { TreeEntry, TreeFile } from '../../base/tree-manifest.ts';
import { decodeTree, encodeTree, looksLikeTree } from '../../base/tree-manifest.ts';
import type { Artifact, ArtifactRows, ArtifactStore, OpenFile, TreeItem } from '../../contract/artifacts.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { ObjectId, ObjectStore, StoredObject } from '../../contract/object-store.ts';
import { NO_WAIT } from '../state-files.ts';
import { toFailure } from '../store-failure.ts';
import { sweepArtifacts } from './sweep-artifacts.ts';

interface ArtifactStoreParts {
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

function refuseManifest(head: Uint8Array): void {
  if (looksLikeTree(head))
    throw fail(
      'input.encoding',
      "Cannot import the file: its bytes begin like Haft's own manifest of a tree",
    );
}

/** The same chunks; the first bytes of them are looked at on the way. */
async function* refuseManifests(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (head.length < LOOKED_AT) {
      head = Buffer.concat([head, chunk.subarray(0, LOOKED_AT - head.length)]);
      refuseManifest(head);
    }
    yield chunk;
  }
}

const LOOKED_AT = 64;

/** One reads while another is synced. */
const AT_ONCE = 8;

export async function importTree(
  items: readonly TreeItem[],
  { objects, rows }: { readonly objects: ObjectStore; readonly rows: ArtifactRows },
  signal?: AbortSignal,
): Promise<Artifact> {
  const stored = new Map<string, TreeFile>();
  let missing = items.filter((item) => item.type === 'file');
  // A large tree may take longer than a lease: what was swept meanwhile is stored again.
  for (let turn = 0; missing.length > 0; turn++) {
    if (turn === TURNS) throw fail('path.raced', 'Cannot import the tree: its objects kept being swept away');
    await storeFiles(missing, stored, objects, signal);
    const ids = [...new Set([...stored.values()].map((file) => file.sha256))];
    await objects.touch(ids.map(idOf));
    const gone = new Set<string>();
    for (const sha256 of ids) if ((await objects.size(idOf(sha256))) === undefined) gone.add(sha256);
    missing = missing.filter(({ path }) => gone.has(stored.get(path)!.sha256));
  }
  const entries: TreeEntry[] = items.map((item) =>
    item.type === 'dir' ? { type: 'dir', path: item.path } : stored.get(item.path)!,
  );
  const id = await objects.put(encodeTree(entries));
  const files = [...stored.values()];
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return rows.register({ id, kind: 'tree', size, files: files.length });
}

const TURNS = 5;

const idOf = (sha256: string): ObjectId => `sha256:${sha256}`;

type FileItem = Extract<TreeItem, { type: 'file' }>;

async function storeFiles(
  items: readonly FileItem[],
  stored: Map<string, TreeFile>,
  objects: ObjectStore,
  signal: AbortSignal | undefined,
): Promise<void> {
  const queue = items.values();
  let broken = false;
  const work = async (): Promise<void> => {
    for (const { path, open } of queue) {
      signal?.throwIfAborted();
      if (broken) return;
      const file = await open();
      try {
        const { id, size } = await objects.putFile(file, signal);
        stored.set(path, { type: 'file', path, size, sha256: id.slice(7), executable: file.executable });
      } finally {
        await file.close();
      }
    }
  };
  const workers = Array.from({ length: AT_ONCE }, () =>
    work().catch((thrown) => {
      broken = true;
      throw thrown;
    }),
  );
  const failed = (await Promise.allSettled(workers)).find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

const READ_ONLY = 0o444;
const RUNS = 0o555;
/** Writable for who made it, so that it can be removed; what is in it is not. */
const FOLDER = 0o755;

/** 1980, the earliest that every archive format can say: equal inputs are equally old. */
const TIME = new Date('1980-01-01T00:00:00Z');

async function materialiseTree(
  entries: readonly TreeEntry[],
  path: string,
  objects: Pick<ObjectStore, 'copyTo'>,
): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    // Parents come first.
    for (const entry of entries) {
      const place = join(path, entry.path);
      if (entry.type === 'dir') await mkdir(place, { mode: FOLDER });
      else await objects.copyTo(`sha256:${entry.sha256}`, place, entry.executable ? RUNS : READ_ONLY);
    }
    // Children first: writing to a folder changes its time.
    for (const entry of entries.toReversed()) await setTime(join(path, entry.path));
    await chmod(path, FOLDER);
    await setTime(path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST')
      throw fail('path.exists', 'Cannot copy the tree: something is already there');
    throw toFailure(thrown, 'Cannot copy the tree');
  }
}

async function setTime(path: string): Promise<void> {
  await utimes(path, TIME, TIME);
}

type OpenedPath = { readonly file: OpenFile } | { readonly items: readonly TreeItem[] };

async function openPath(path: string, signal?: AbortSignal): Promise<OpenedPath> {
  if (!isAbsolute(path)) throw fail('path.invalid', 'Cannot import: the path is not absolute');
  try {
    const stat = await lstat(path);
    if (!stat.isDirectory()) return { file: await openFile(path, basename(path)) };
    const items: TreeItem[] = [];
    await collect(path, '', items, signal);
    return { items };
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT')
      throw fail('path.not_found', `Cannot import "${basename(path)}": no such file or folder`);
    throw toFailure(thrown, `Cannot import "${basename(path)}"`);
  }
}

const OWNER_RUNS = 0o100;

async function openFile(path: string, name: string): Promise<OpenFile> {
  // Looked at before it is opened: opening a device may have an effect.
  if (!(await lstat(path)).isFile()) throw notRegular(name);
  const handle = await open(path, NO_WAIT);
  const stat = await handle.stat();
  if (!stat.isFile()) {
    await handle.close();
    throw notRegular(name);
  }
  return {
    size: stat.size,
    executable: (stat.mode & OWNER_RUNS) !== 0,
    ...(process.platform === 'linux' ? { clonePath: `/proc/self/fd/${handle.fd}` } : {}),
    read: async (into, position) => (await handle.read(into, 0, into.length, position)).bytesRead,
    close: () => handle.close(),
  };
}

async function collect(
  folder: string,
  prefix: string,
  items: TreeItem[],
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted();
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = `${prefix}${entry.name}`;
    const place = join(folder, entry.name);
    if (entry.isDirectory()) {
      items.push({ type: 'dir', path });
      await collect(place, `${path}/`, items, signal);
    } else if (entry.isFile()) items.push({ type: 'file', path, open: () => openFile(place, path) });
    else throw notRegular(path);
  }
}

function notRegular(name: string): Error {
  return fail('path.not_regular', `Cannot import "${name}": it is neither a regular file nor a folder`);
}
