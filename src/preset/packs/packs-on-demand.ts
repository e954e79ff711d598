// Owns: loading all that packs need, when the first policy names one.
// Refuses: to cost a workspace without packs anything.
import type { PolicyFile } from '../../contract/policy.ts';
import type { Packs } from './open-packs.ts';
import type { PackSite } from './pack-site.ts';

export function createPacksOnDemand(site: PackSite): Packs {
  let loaded: Promise<Packs> | undefined;
  return {
    async follow(policy: Pick<PolicyFile, 'packs'>) {
      if (!loaded && !policy.packs?.length && site.lock !== 'frozen') return;
      loaded ??= import('./default-packs.ts').then((module) => module.createDefaultPacks(site));
      await (await loaded).follow(policy);
    },
  };
}
