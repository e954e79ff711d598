// Owns: loading all that packs need, when the first policy names one.
// Refuses: to cost a workspace without packs anything.
import type { PolicyFile } from '../../contract/policy.ts';
import type { Packs } from './open-packs.ts';
import type { PackSite } from './pack-site.ts';

export function createPacksOnDemand(site: PackSite): Packs {
  let loaded: Promise<Packs> | undefined;
  let open: Packs | undefined;
  const packsOf = async ({ packs = [] }: Pick<PolicyFile, 'packs'>): Promise<typeof packs> => {
    if (site.packs) return site.packs;
    const records = await site.store.installations.list();
    if (records.length === 0) return packs;
    return (await import('./installed-packs.ts')).installedPacks(packs, records);
  };
  return {
    async follow(policy: Pick<PolicyFile, 'packs'>) {
      const packs = await packsOf(policy);
      if (!loaded && packs.length === 0 && site.lock !== 'frozen') return;
      loaded ??= import('./default-packs.ts').then((module) => module.createDefaultPacks(site));
      open = await loaded;
      await open.follow({ packs });
    },
    spoken: () => open?.spoken() ?? [],
    close: async () => (await loaded)?.close(),
  };
}
