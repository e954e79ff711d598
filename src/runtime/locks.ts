// Owns: which write locks a call needs, from its effects, from where links lead and from capabilities, and whether those it holds cover a place.
// Refuses: waiting and sharing between processes (the store's lock table), and looking at the disk (the fs capability).
import { parentOf } from '../base/rel-path.ts';
import type { CallScope } from '../contract/capability.ts';
import type { Effect } from '../contract/effect.ts';
import type { PolicyEngine } from '../contract/policy.ts';
import type { RuntimeParts } from '../contract/runtime.ts';
import type { LockRequest } from '../contract/store.ts';
import type { LiveCapabilities } from './capabilities.ts';
import type { Deadline } from './limits.ts';
import type { CallRecord } from './record.ts';

export interface HeldLocks {
  release(): Promise<void>;
  readonly locked: NonNullable<CallScope['locked']>;
}

interface LockSite {
  readonly parts: Pick<RuntimeParts, 'root' | 'store' | 'realNames'>;
  readonly capabilities: Pick<LiveCapabilities, 'locks'>;
}

/** Undefined where the call writes no path and needs no lock of a capability. Waits until the locks are free, within the deadline. */
export async function takeLocks(
  { parts: { root, store, realNames }, capabilities }: LockSite,
  call: Pick<CallRecord, 'tool' | 'effects'>,
  { loaded }: PolicyEngine,
  deadline: Deadline,
): Promise<HeldLocks | undefined> {
  const roots = { root, extraRoots: loaded.resolved?.extraRoots ?? [] };
  const locks = locksFor(call.effects, (path) => realNames(path, roots), capabilities.locks(call));
  if (locks.length === 0) return undefined;
  deadline.arm();
  const release = await store.locks.acquire(locks, deadline.signal);
  return { release, locked: (path) => isLocked(locks, path) };
}

/** `realNames` answers where links lead from a path: who names a place otherwise waits for the same lock. */
export function locksFor(
  effects: readonly Effect[],
  realNames: (path: string) => readonly string[],
  named: readonly LockRequest[] = [],
): readonly LockRequest[] {
  const wanted = new Map(named.map((one) => [one.path, one]));
  const want = (path: string, isTree: boolean): void => {
    const tree = isTree || wanted.get(path)?.tree === true;
    wanted.set(path, { path, tree });
    if (!MAYBE_REPOSITORY.test(path)) return;
    for (const head of headsOf(path)) if (!wanted.has(head)) wanted.set(head, { path: head, tree: false });
  };
  for (const effect of effects) {
    if (effect.kind !== 'fs.write') continue;
    want(effect.path, effect.tree === true);
    for (const path of realNames(effect.path)) want(path, effect.tree === true);
  }
  return [...wanted.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Sorted as `locksFor` answers them. As in the lock table, the tree of the workspace holds everything. */
export function isLocked(locks: readonly LockRequest[], path: string): boolean {
  for (let at = path; ; at = parentOf(at) || '.') {
    const lock = find(locks, at);
    if (lock && (at === path || lock.tree)) return true;
    if (at === '.') return false;
  }
}

function find(locks: readonly LockRequest[], path: string): LockRequest | undefined {
  let [low, high] = [0, locks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (locks[middle]!.path < path) low = middle + 1;
    else high = middle;
  }
  return locks[low]?.path === path ? locks[low] : undefined;
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
