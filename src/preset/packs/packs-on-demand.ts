// Owns: loading all that packs need, when the first policy names one.
// Refuses: to cost a workspace without packs anything.
import type { PolicyFile } from '../../contract/policy.ts';
import type { Runtime } from '../../contract/runtime.ts';
import type { Store } from '../../contract/store.ts';
import type { Packs } from './open-packs.ts';

export interface PackSite {
  readonly runtime: Runtime;
  readonly store: Pick<Store, 'credentials'>;
  /** The workspace. */
  readonly root: string;
  readonly onWarning?: ((message: string) => void) | undefined;
}

export function createPacksOnDemand(site: PackSite): Packs {
  let loaded: Promise<Packs> | undefined;
  return {
    async follow(policy: Pick<PolicyFile, 'packs'>) {
      if (!loaded && !policy.packs?.length) return;
      loaded ??= import('./default-packs.ts').then((module) => module.createDefaultPacks(site));
      await (await loaded).follow(policy);
    },
  };
}
