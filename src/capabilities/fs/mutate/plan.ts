// Owns: turning edits into steps and the changes that they amount to, and looking at them without taking them.
// Refuses: to change anything; a plan leaves no trace but, when it is meant, pre-images in the object store.
import type { CallScope, Change, Edit } from '../../../contract/capability.ts';
import { createLimit, type Limit } from '../limit.ts';
import type { Root } from '../root.ts';
import type { Belongings } from './belongings.ts';
import { createFolders } from './folders.ts';
import type { Losses } from './ownership.ts';
import type { Pins } from './pins.ts';
import { planCopy } from './plan-copy.ts';
import { planDelete } from './plan-delete.ts';
import { planMove } from './plan-move.ts';
import { planRevert } from './plan-revert.ts';
import { planWrite } from './plan-write.ts';
import type { Planning } from './planning.ts';
import { createPreImages } from './preimage.ts';
import type { PlannedChange } from './step.ts';
import { createView } from './view.ts';

export interface Plan extends Planning {
  /** The action that messages begin with. */
  readonly verb: string;
  readonly limit: Limit;
}

export interface PlanParts {
  readonly scope: CallScope;
  readonly root: Root;
  readonly pins: Pins;
  readonly belongings: (workspace: string) => Belongings;
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
export async function withPlan<T>(
  edits: readonly Edit[],
  { scope, root, pins, belongings }: PlanParts,
  store: boolean,
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
    belongings: belongings(scope.root),
    preImages: createPreImages(scope, limit, verb, store),
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
  return withPlan(edits, parts, false, async (plan) => {
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
export function withLosses(changes: readonly Change[], losses: Losses): readonly Change[] {
  if (losses.length === 0) return changes;
  return changes.map((change) => {
    const lost = losses.filter(({ path }) => path === change.path).map(({ what, why }) => ({ what, why }));
    return lost.length === 0 ? change : { ...change, lost };
  });
}

/** The changes, once pre-images are read and copies are staged. */
export function settle(changes: readonly PlannedChange[]): Promise<Change[]> {
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
