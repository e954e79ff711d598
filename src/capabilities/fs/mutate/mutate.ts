// Owns: changing files, all or nothing: turn edits into steps, keep what was, stage what will be, make the intent durable, act; or look
// at the changes without taking them.
// Refuses: to let anything be seen before `scope.intend` has answered; a plan leaves no trace but pre-images in the object store.
import { unlink } from 'node:fs/promises';
import type { CallScope, Change, Edit } from '../../../contract/capability.ts';
import { createTempNames, type Root } from '../root.ts';
import { applySteps } from './apply.ts';
import { createDirectorySync, type SyncFolder } from './directory-sync.ts';
import type { Losses } from './ownership.ts';
import { createFolders, createPins, type Pins } from './pins.ts';
import { planDelete } from './plan-delete.ts';
import { planMove } from './plan-move.ts';
import { planRevert } from './plan-revert.ts';
import { planCopy, planWrite } from './plan-write.ts';
import type { Planning } from './planning.ts';
import { createLimit, createPreImages, type Limit, type PreImageUse } from './preimage.ts';
import { createProtectedPlaces, type ProtectedPlaces } from './protected-places.ts';
import { type Staged, stage } from './stage.ts';
import { createView, type PlannedChange, type Put } from './view.ts';

export interface Mutator {
  mutate(edits: readonly Edit[], scope: CallScope, root: Root): Promise<readonly Change[]>;
  /** Dry run: what the edits would change. */
  preview(edits: readonly Edit[], scope: CallScope, root: Root): Promise<readonly Change[]>;
  /** Throws what the edits would be refused for. */
  check(edits: readonly Edit[], scope: CallScope, root: Root): Promise<void>;
}

/** `isAlive` tells whether a process still runs, by the name that it gave itself. */
export function createMutator(isAlive?: (process: string) => boolean): Mutator {
  const shared = {
    tempName: createTempNames(),
    syncFolder: createDirectorySync(),
    pins: createPins(),
    protectedPlaces: createProtectedPlaces(isAlive),
  };
  return {
    mutate: (edits, scope, root) => mutate(edits, { ...shared, scope, root }),
    preview: (edits, scope, root) => preview(edits, { ...shared, scope, root }),
    check: (edits, scope, root) => withPlan(edits, { ...shared, scope, root }, 'count', async () => {}),
  };
}

interface MutateParts extends PlanParts {
  readonly tempName: () => string;
  readonly syncFolder: SyncFolder;
}

function mutate(edits: readonly Edit[], parts: MutateParts): Promise<readonly Change[]> {
  const { scope } = parts;
  return withPlan(edits, parts, 'keep', async (plan) => {
    const staged = new Map<Put, Staged>();
    try {
      const staging = stageAll(plan, parts.tempName, staged);
      const announcing = announce(plan, staging);
      // Both, also when one fails: what is staged must be known to be cleared away.
      const [stagingEnd, announcement] = await Promise.allSettled([staging, announcing]);
      if (stagingEnd.status === 'rejected') throw stagingEnd.reason;
      if (announcement.status === 'rejected') throw announcement.reason;
      const changes = announcement.value;
      if (changes.length === 0) return changes;
      scope.signal.throwIfAborted();
      const onTrouble = (message: string) => scope.warn({ reason: 'file.io', message });
      await applySteps(plan.steps, { ...plan, ...parts, staged, signal: scope.signal, onTrouble });
      staged.clear();
      return withLosses(changes, plan.losses);
    } finally {
      for (const left of staged.values()) await discard(plan, left);
    }
  });
}

/** Makes the intent durable, and with it what was there, while new content is on its way to the disk. */
async function announce(plan: Plan, staging: Promise<void>): Promise<readonly Change[]> {
  // What a copy will be is known once it is made.
  const isCopy = plan.steps.some((step) => step.do === 'put' && 'copyOf' in step.content);
  if (isCopy) await staging;
  const changes = await settle(plan.changes);
  plan.scope.signal.throwIfAborted();
  if (changes.length > 0) await Promise.all([plan.scope.intend(changes), plan.preImages.kept()]);
  return changes;
}

/** Settles every one before it throws: what is staged must be known to be cleared away. */
async function stageAll(plan: Plan, tempName: () => string, staged: Map<Put, Staged>): Promise<void> {
  const { signal, objects } = plan.scope;
  const puts = plan.steps.filter((step) => step.do === 'put');
  const results = await Promise.allSettled(
    puts.map((put) =>
      plan.limit(async () => {
        signal.throwIfAborted();
        const name = tempName();
        const state = await stage(put, name, { ...plan, objects, signal });
        staged.set(put, { folder: put.stageIn, name });
        if (state) plan.staged.set(put, state);
      }),
    ),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/** After a failure; what went into place before it and came back is gone already. */
async function discard({ folders }: Plan, { folder, name }: Staged): Promise<void> {
  try {
    const found = folders.find(folder);
    if (found) await unlink(`${found.path}/${name}`);
  } catch {
    // Swept later.
  }
}

interface Plan extends Planning {
  /** The action that messages begin with. */
  readonly verb: string;
  readonly limit: Limit;
}

interface PlanParts {
  readonly scope: CallScope;
  readonly root: Root;
  readonly pins: Pins;
  readonly protectedPlaces: (workspace: string) => ProtectedPlaces;
}

/** Reads and writes of one mutation that are under way at once. */
const AT_ONCE = 16;

type Planner<K extends Edit['op']> = (edit: Extract<Edit, { op: K }>, planning: Planning) => Promise<void>;

const PLANNERS = {
  write: planWrite,
  move: planMove,
  copy: planCopy,
  delete: planDelete,
  revert: planRevert,
} as const satisfies Record<Edit['op'], unknown>;

const VERBS: { readonly [op in Edit['op']]: string } = {
  write: 'write',
  move: 'move',
  copy: 'copy',
  delete: 'delete',
  revert: 'undo',
};

/** Plans the edits, hands the plan to `use`, and ends with nothing under way and nothing open. */
async function withPlan<T>(
  edits: readonly Edit[],
  { scope, root, pins, protectedPlaces }: PlanParts,
  preImages: PreImageUse,
  use: (plan: Plan) => Promise<T>,
): Promise<T> {
  const verb = VERBS[edits[0]?.op ?? 'write'];
  const folders = createFolders(verb, pins);
  const limit = createLimit(AT_ONCE);
  const plan: Plan = {
    verb,
    limit,
    root,
    scope,
    folders,
    view: createView(folders),
    protectedPlaces: protectedPlaces(scope.root),
    preImages: createPreImages(scope, limit, verb, preImages),
    steps: [],
    changes: [],
    staged: new Map(),
    losses: [],
  };
  try {
    for (const edit of edits) await (PLANNERS[edit.op] as Planner<Edit['op']>)(edit as never, plan);
    return await use(plan);
  } finally {
    await Promise.allSettled(plan.changes.map((change) => change.before));
    await plan.preImages.kept().catch(() => undefined);
    folders.close();
  }
}

/** Dry run: what the edits would change. */
export function preview(edits: readonly Edit[], parts: PlanParts): Promise<readonly Change[]> {
  return withPlan(edits, parts, 'hash', async (plan) => {
    for (const step of plan.steps) {
      if (step.do !== 'put' || !('copyOf' in step.content)) continue;
      const { copyOf, stat } = step.content;
      const object = await plan.preImages.hash(copyOf, stat);
      plan.staged.set(step, { type: 'file', object, size: Number(stat.size), mode: step.mode });
    }
    const changes = await settle(plan.changes);
    return withLosses(changes, plan.losses).map((change) => ({ ...change, stored: false }));
  });
}

/** For the answer: what became of a change that could not be made whole. */
function withLosses(changes: readonly Change[], losses: Losses): readonly Change[] {
  if (losses.length === 0) return changes;
  return changes.map((change) => {
    const lost = losses.filter(({ path }) => path === change.path).map(({ what, why }) => ({ what, why }));
    return lost.length === 0 ? change : { ...change, lost };
  });
}

/** The changes, once pre-images are read and copies are staged. */
function settle(changes: readonly PlannedChange[]): Promise<Change[]> {
  return Promise.all(
    changes.map(async ({ path, before, after, movedFrom, fingerprint }) => {
      const { state, stored } = await before;
      return {
        path,
        before: state ?? null,
        after: after() ?? null,
        stored,
        ...(movedFrom === undefined ? {} : { movedFrom }),
        ...(fingerprint === undefined ? {} : { fingerprint }),
      };
    }),
  );
}
