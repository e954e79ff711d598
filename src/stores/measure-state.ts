// Owns: how large what is of a workspace's state.
// Refuses: to remove anything; `haft gc` does.

import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactStore } from '../contract/artifacts.ts';
import type { ObjectId, ObjectStore } from '../contract/object-store.ts';
import type { StateSizes } from '../contract/operation-handles.ts';
import type { Store } from '../contract/store.ts';

export interface SizesSite {
  /** `.haft`. */
  readonly folder: string;
  readonly store: Pick<Store, 'retention' | 'artifacts'>;
  readonly objects: ObjectStore;
  artifacts(): Promise<ArtifactStore>;
}

/** Past every call: none is kept for undo. */
const NO_UNDO = Number.MAX_SAFE_INTEGER;

export async function measureState({ folder, store, objects, artifacts }: SizesSite): Promise<StateSizes> {
  const [inRuns, forUndo] = [new Set<ObjectId>(), new Set<ObjectId>()];
  for await (const ids of store.artifacts.roots(NO_UNDO)) for (const id of ids) inRuns.add(id);
  for await (const ids of store.artifacts.roots(0)) for (const id of ids) forUndo.add(id);
  const known = await artifactObjects(store, await artifacts());
  const sums = { artifacts: 0, runs: 0, undo: 0, unreferenced: 0 };
  for await (const { id, size } of objects.list()) {
    const kind = known.has(id)
      ? 'artifacts'
      : inRuns.has(id)
        ? 'runs'
        : forUndo.has(id)
          ? 'undo'
          : 'unreferenced';
    sums[kind] += size;
  }
  const [total, runs, quarantine, packs] = await Promise.all(
    ['.', 'runs', 'quarantine', 'packs'].map((name) => sizeBelow(join(folder, name))),
  );
  const sizes = await store.retention.sizes();
  return { total: total!, ...sizes, objects: sums, runs: runs!, quarantine: quarantine!, packs: packs! };
}

const PAGE = 500;

async function artifactObjects(
  { artifacts: rows }: SizesSite['store'],
  artifacts: ArtifactStore,
): Promise<ReadonlySet<ObjectId>> {
  const ids = new Set<ObjectId>();
  for (let before: ObjectId | undefined; ; ) {
    const page = await rows.list({ limit: PAGE, ...(before ? { before } : {}) });
    for (const { id, kind } of page) {
      ids.add(id);
      // One whose manifest is damaged names nothing any more.
      const entries = kind === 'tree' ? await artifacts.entries(id).catch(() => []) : [];
      for (const entry of entries) if (entry.type === 'file') ids.add(`sha256:${entry.sha256}`);
    }
    if (page.length < PAGE) return ids;
    before = page.at(-1)!.id;
  }
}

/** Bytes of all files; 0 where nothing is there. */
async function sizeBelow(path: string): Promise<number> {
  const stat = await lstat(path).catch(() => undefined);
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.size;
  let sum = 0;
  for (const name of await readdir(path).catch(() => [])) sum += await sizeBelow(join(path, name));
  return sum;
}
