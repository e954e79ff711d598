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
    if (!MAYBE_REPOSITORY.test(effect.path)) continue;
    for (const path of headsOf(effect.path)) if (!wanted.has(path)) wanted.set(path, { path, tree: false });
  }
  return [...wanted.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What makes a folder a repository to git. Each is harmless alone: calls that make them in one folder wait for each other. */
const MAYBE_REPOSITORY = /(?:^|\/)(?:HEAD|commondir|objects|refs)(?:\/|$)/;
const REPOSITORY_PARTS: ReadonlySet<string> = new Set(['HEAD', 'commondir', 'objects', 'refs']);

function headsOf(path: string): readonly string[] {
  const names = path.split('/');
  return names.flatMap((name, at) =>
    REPOSITORY_PARTS.has(name) ? [[...names.slice(0, at), 'HEAD'].join('/')] : [],
  );
}
