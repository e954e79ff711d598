// Owns: the capabilities of a runtime: their handles, what lives between calls, their lock names and protected paths.
// Refuses: to know one by name; to open one before somebody needs it, and to let one that does not open stop the others.
import { once } from '../base/once.ts';
import { normalizeRelPath } from '../base/rel-path.ts';
import type { Capability, CapabilityFactories, EffectViews } from '../contract/capability.ts';
import { fail } from '../contract/errors.ts';
import type { LoadedPolicy } from '../contract/policy.ts';
import type { RuntimeParts } from '../contract/runtime.ts';
import type { LockRequest } from '../contract/store.ts';
import type { FollowedCall, Life } from './follow-changes.ts';
import { type CallRecord, shownError } from './record.ts';

export interface LiveCapabilities {
  /** By name: what makes the handle of a call. */
  readonly handles: CapabilityFactories;
  /** By name: what `effects` may ask. */
  readonly views: Partial<EffectViews>;
  /** What a call that changes something holds beside its paths. */
  locks(call: Pick<CallRecord, 'tool' | 'effects'>): readonly LockRequest[];
  /** The policy, which also refuses what capabilities keep for themselves. */
  protect(loaded: LoadedPolicy): LoadedPolicy;
  /** Does the work of a call; whoever subscribes has been told what it changed when it settles. Absent where nobody does. */
  readonly follow: ((call: FollowedCall, work: () => Promise<unknown>) => Promise<unknown>) | undefined;
  close(): Promise<void>;
}

export function createCapabilities(parts: RuntimeParts): LiveCapabilities {
  const { root, capabilities } = parts;
  const lives = capabilities.map((capability) => createLife(capability, root));
  const subscribers = lives.filter(({ capability }) => capability.open && capability.changed);
  const locking = capabilities.filter(({ locks }) => locks);
  const kept = capabilities.flatMap(({ name, protects = [] }) =>
    protects.map((path) => ({ path: protectable(path, name), capability: name })),
  );
  /** Loaded where somebody subscribes: nobody else pays for it. */
  const follower = once(async () => (await import('./follow-changes.ts')).createFollower(parts, subscribers));
  const handles: Record<string, Capability['handle']> = {};
  for (const life of lives) {
    const { capability } = life;
    const { name } = capability;
    if (name in handles || !/^[a-z][A-Za-z0-9]*$/.test(name))
      throw fail('usage', `Cannot create a runtime: "${name}" cannot be the name of one more capability`);
    // Without a life between calls it is asked at once: every read asks for one.
    if (!capability.open) handles[name] = capability.handle.bind(capability);
    else if (!capability.changed) handles[name] = (scope) => capability.handle(scope, life.open);
    else
      handles[name] = (scope) =>
        capability.handle(scope, async () => (await follower()).state(life, scope.callId));
  }
  return {
    handles: handles as CapabilityFactories,
    views: Object.fromEntries(capabilities.flatMap(({ name, view }) => (view ? [[name, view]] : []))),
    locks: (call) =>
      locking.flatMap((capability) =>
        (capability.locks?.(call) ?? []).map((name) => ({
          path: `${STATE}/${capability.name}/${name}`,
          tree: false,
        })),
      ),
    protect(loaded) {
      if (kept.length === 0) return loaded;
      const resolved = { workspace: root, extraRoots: [], packs: [], ...loaded.resolved, kept };
      return { ...loaded, resolved };
    },
    follow:
      subscribers.length === 0 ? undefined : async (call, work) => (await follower()).during(call, work),
    async close() {
      const ends = await Promise.allSettled(lives.map((life) => life.close()));
      for (const end of ends) if (end.status === 'rejected') shownError(parts, end.reason);
    },
  };
}

/** In the state of the workspace: refused to all tools and programs already. */
const STATE = '.haft/capabilities';

function createLife(capability: Capability, root: string): Life {
  let opened: Promise<unknown> | undefined;
  return {
    capability,
    get opened() {
      return opened;
    },
    open() {
      if (opened) return opened;
      const site = { root, folder: `${root}/${STATE}/${capability.name}` };
      const opening = Promise.resolve().then(() => capability.open?.(site));
      opened = opening;
      opening.catch(() => {
        if (opened === opening) opened = undefined;
      });
      return opening;
    },
    async close() {
      const was = opened;
      opened = undefined;
      if (capability.open && !was) return;
      const state = await was?.then(
        (value) => ({ value }),
        () => 'never' as const,
      );
      if (state !== 'never') await capability.close?.(state?.value);
    },
  };
}

function protectable(path: string, name: string): string {
  const normal = normalizeRelPath(path);
  if (normal.ok && normal.path !== '.') return normal.path;
  const fact = `the capability "${name}" protects "${path}", which is not a path in the workspace`;
  throw fail('usage', `Cannot create a runtime: ${fact}`);
}
