// Owns: importing a folder: its files, a few at a time, then the manifest that names them, then the row.
// Refuses: half a tree: nothing is registered unless everything was stored and is still there.
import { encodeTree, type TreeEntry, type TreeFile } from '../../base/tree-manifest.ts';
import type { Artifact, ArtifactRows, TreeItem } from '../../contract/artifacts.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId, ObjectStore } from '../../contract/object-store.ts';

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
