// Owns: which write locks a call needs, from its effects.
// Refuses: waiting and sharing between processes; the store's lock table does that.
import type { Effect } from '../contract/effect.ts';
import type { LockRequest } from '../contract/store.ts';

export function locksFor(effects: readonly Effect[]): readonly LockRequest[] {
  const wanted = new Map<string, LockRequest>();
  for (const effect of effects) {
    if (effect.kind !== 'fs.write') continue;
    const tree = effect.tree === true || wanted.get(effect.path)?.tree === true;
    wanted.set(effect.path, { path: effect.path, tree });
  }
  return [...wanted.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
