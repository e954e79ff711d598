// Owns: mark and sweep: what nothing refers to and nobody used for a while is let go of, rows first, bytes after.
// Refuses: anything that was used since it began to look, whoever used it: the store decides that at the very removal.
import { decodeTree } from '../../base/tree-manifest.ts';
import type { Artifact, ArtifactRows, SweepOptions, SweepReport } from '../../contract/artifacts.ts';
import { SHORTEST_LEASE_MS } from '../../contract/artifacts.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { ObjectId, ObjectStore, ObjectUse } from '../../contract/object-store.ts';

export interface SweepParts {
  readonly objects: ObjectStore;
  readonly rows: ArtifactRows;
  readonly clock: { now(): number };
}

export async function sweepArtifacts(options: SweepOptions, parts: SweepParts): Promise<SweepReport> {
  const { unusedForMs, undoForMs = Number.POSITIVE_INFINITY, undoAfter = 0 } = options;
  const { keepArtifacts = false, dryRun = false, signal } = options;
  if (!(unusedForMs >= SHORTEST_LEASE_MS)) {
    const message = `Cannot sweep what was used ${unusedForMs} ms ago: whoever stores something has ${SHORTEST_LEASE_MS} ms to refer to it`;
    throw fail('usage', message);
  }
  const { objects, rows, clock } = parts;
  const now = clock.now();
  const unusedSince = now - unusedForMs;

  // The objects first: what comes later is not looked at, and what refers to one that is there is marked below.
  const all: ObjectUse[] = [];
  for await (const object of objects.list()) all.push(object);
  signal?.throwIfAborted();
  const undoSince = Math.max(0, now - undoForMs);
  const live = await mark(parts, { unusedSince, undoSince, undoAfter, keepArtifacts }, all);
  signal?.throwIfAborted();

  const doomed = all.filter(({ id, usedTs }) => !live.has(id) && usedTs < unusedSince);
  const ids = doomed.map(({ id }) => id);
  const artifacts = keepArtifacts
    ? []
    : dryRun
      ? await registered(rows, ids)
      : await rows.forget(ids, unusedSince);
  const gone = new Set(dryRun ? ids : await objects.discard(ids, unusedSince));
  return {
    artifacts,
    removed: total(all.filter(({ id }) => gone.has(id))),
    kept: total(all.filter(({ id }) => !gone.has(id))),
  };
}

interface Marking {
  readonly unusedSince: number;
  readonly undoSince: number;
  readonly undoAfter: number;
  readonly keepArtifacts: boolean;
}

/** What calls and runs refer to, what was used not long ago, and whatever is in trees among those. */
async function mark(
  { objects, rows }: SweepParts,
  { unusedSince, undoSince, undoAfter, keepArtifacts }: Marking,
  all: readonly ObjectUse[],
): Promise<ReadonlySet<ObjectId>> {
  const live = new Set<ObjectId>();
  for await (const ids of rows.roots(undoSince, undoAfter)) for (const id of ids) live.add(id);
  for (const { id, usedTs } of all) if (usedTs >= unusedSince) live.add(id);
  for await (const { id, kind, usedTs } of everyArtifact(rows, keepArtifacts ? undefined : 'tree')) {
    if (keepArtifacts || usedTs >= unusedSince) live.add(id);
    if (kind === 'tree' && live.has(id)) for (const inside of await filesOf(objects, id)) live.add(inside);
  }
  return live;
}

const PAGE = 500;

async function* everyArtifact(rows: ArtifactRows, kind: Artifact['kind'] | undefined) {
  let before: ObjectId | undefined;
  for (;;) {
    const page = await rows.list({ limit: PAGE, ...(kind ? { kind } : {}), ...(before ? { before } : {}) });
    yield* page;
    if (page.length < PAGE) return;
    before = page.at(-1)!.id;
  }
}

/** A manifest that is damaged names nothing any more; its files stay for as long as anything else names them. */
async function filesOf(objects: ObjectStore, id: ObjectId): Promise<readonly ObjectId[]> {
  try {
    const entries = decodeTree(await objects.get(id));
    return entries.flatMap((entry): ObjectId[] => (entry.type === 'file' ? [`sha256:${entry.sha256}`] : []));
  } catch (thrown) {
    if (isFailure(thrown)) return [];
    throw thrown;
  }
}

async function registered(rows: ArtifactRows, ids: readonly ObjectId[]): Promise<readonly ObjectId[]> {
  const found: ObjectId[] = [];
  for (const id of ids) if (await rows.get(id)) found.push(id);
  return found;
}

const total = (objects: readonly ObjectUse[]): SweepReport['removed'] => ({
  objects: objects.length,
  bytes: objects.reduce((sum, { size }) => sum + size, 0),
});
