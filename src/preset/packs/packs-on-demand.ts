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
    if (site.below) return packs;
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
      const kept = await site.store.toolNames.all();
      site.names.recall(kept);
      await open.follow({ packs });
      // What is only tried out is told to nobody.
      if (!site.packs) await keepNames(site, kept);
    },
    refresh: async () => open?.refresh(),
    folders: () => open?.folders() ?? [],
    problems: () => open?.problems() ?? new Map(),
    spoken: () => open?.spoken() ?? [],
    close: async () => (await loaded)?.close(),
  };
}

/** From their first start on the tools keep their names, whatever is installed later. */
async function keepNames({ runtime, names, store, onWarning }: PackSite, kept: ReadonlyMap<string, string>) {
  const ids = runtime.installations.all().flatMap(({ tools }) => tools.map(({ contract }) => contract.id));
  const fresh = new Map(ids.filter((id) => !kept.has(id)).map((id) => [id, names.nameOf(id)]));
  if (fresh.size === 0) return;
  await store.toolNames.keep(fresh).catch((thrown: Error) => {
    onWarning?.(`Cannot keep what MCP clients call the tools: ${thrown.message}`);
  });
}
