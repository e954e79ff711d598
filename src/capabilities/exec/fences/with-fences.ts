// Owns: one program's time behind its fences: placeholders before, a second look after, however it ended.
// Refuses: to run anything itself.
import type { CallScope } from '../../../contract/capability.ts';
import { checkAftermath } from './aftermath.ts';
import type { FencedRoot, FenceFinder, Fences } from './find-fences.ts';
import { type Held, holdPlaceholders, type ProcessNames } from './placeholders.ts';

export interface FenceKeeper extends FenceFinder {
  readonly names: ProcessNames;
}

/** Throws `policy.quarantined` whatever `run` came to, where it left what may not be there. */
export async function withFences<T>(
  scope: CallScope,
  keeper: FenceKeeper,
  roots: readonly FencedRoot[],
  fences: Fences,
  run: (held: Held) => Promise<T>,
): Promise<T> {
  const held = holdPlaceholders(scope.root, fences, keeper.names);
  try {
    const [ended] = await Promise.allSettled([run(held)]);
    checkAftermath(scope, keeper, roots, fences);
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  } finally {
    held.release();
  }
}

/** The same where nothing is fenced, because there is no sandbox. */
export async function withoutFences<T>(
  scope: CallScope,
  keeper: FenceKeeper,
  roots: readonly FencedRoot[],
  run: () => Promise<T>,
): Promise<T> {
  const sight = keeper.look(scope, roots);
  const [ended] = await Promise.allSettled([run()]);
  checkAftermath(scope, keeper, roots, { ...sight, hidden: [], readOnly: [], missing: [], present: [] });
  if (ended.status === 'rejected') throw ended.reason;
  return ended.value;
}
