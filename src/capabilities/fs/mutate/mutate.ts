// Owns: changing files, all or nothing: plan, keep what was, stage what will be, make the intent durable, act.
// Refuses: to let anything be seen before `scope.intend` has answered.
import { unlink } from 'node:fs/promises';
import type { CallScope, Change, Edit } from '../../../contract/capability.ts';
import { createDirectorySync, type SyncFolder } from '../directory-sync.ts';
import type { Root } from '../root.ts';
import { createTempNames } from '../temp-name.ts';
import { applySteps } from './apply.ts';
import { createBelongings } from './belongings.ts';
import { createPins } from './pins.ts';
import { type Plan, type PlanParts, preview, settle, withLosses, withPlan } from './plan.ts';
import { type Staged, stage } from './stage.ts';
import type { Put } from './step.ts';

export interface Mutator {
  mutate(edits: readonly Edit[], scope: CallScope, root: Root): Promise<readonly Change[]>;
  /** Dry run: what the edits would change. */
  preview(edits: readonly Edit[], scope: CallScope, root: Root): Promise<readonly Change[]>;
}

/** `isAlive` tells whether a process still runs, by the name that it gave itself. */
export function createMutator(isAlive?: (process: string) => boolean): Mutator {
  const shared = {
    tempName: createTempNames(),
    syncFolder: createDirectorySync(),
    pins: createPins(),
    belongings: createBelongings(isAlive),
  };
  return {
    mutate: (edits, scope, root) => mutate(edits, { ...shared, scope, root }),
    preview: (edits, scope, root) => preview(edits, { ...shared, scope, root }),
  };
}

interface MutateParts extends PlanParts {
  readonly tempName: () => string;
  readonly syncFolder: SyncFolder;
}

function mutate(edits: readonly Edit[], parts: MutateParts): Promise<readonly Change[]> {
  const { scope } = parts;
  return withPlan(edits, parts, true, async (plan) => {
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
