// Owns: loading all that packs need, when the first policy names one.
// Refuses: to cost a workspace without packs anything.
import type { PolicyFile } from '../../contract/policy.ts';
import type { WatchedPacks } from './open-packs.ts';
import type { PackSite } from './pack-site.ts';

export function createPacksOnDemand(site: PackSite): WatchedPacks {
  let loaded: Promise<WatchedPacks> | undefined;
  let open: WatchedPacks | undefined;
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
      loaded ??= import('./default-packs.ts').then((module) =>
        // What is only tried out is told to nobody.
        module.createDefaultPacks(site.packs ? site : { ...site, retooled: () => keepNames(site) }),
      );
      open = await loaded;
      site.names.recall(await site.store.toolNames.all());
      await open.follow({ packs });
    },
    states: () => open?.states() ?? [],
    get health() {
      return open?.health;
    },
    refresh: async () => open?.refresh(),
    folders: () => open?.folders() ?? [],
    problems: () => open?.problems() ?? new Map(),
    spoken: () => open?.spoken() ?? [],
    close: async () => (await loaded)?.close(),
  };
}

/** From their first start on the tools keep their names, whatever is installed later. */
async function keepNames({ runtime, names, store, onWarning }: PackSite): Promise<void> {
  const kept = await store.toolNames.all();
  const ids = runtime.installations.all().flatMap(({ tools }) => tools.map(({ contract }) => contract.id));
  const fresh = new Map(ids.filter((id) => !kept.has(id)).map((id) => [id, names.nameOf(id)]));
  if (fresh.size === 0) return;
  await store.toolNames.keep(fresh).catch((thrown: Error) => {
    onWarning?.(`Cannot keep what MCP clients call the tools: ${thrown.message}`);
  });
}
