// Owns: loading all that packs need, when the first policy names one.
// Refuses: to cost a workspace without packs anything.
import type { PolicyFile } from '../../contract/policy.ts';
import type { WatchedPacks } from './open-packs.ts';
import type { PackSite } from './pack-site.ts';

export function createPacksOnDemand(site: PackSite): WatchedPacks {
  let loaded: Promise<WatchedPacks> | undefined;
  let open: WatchedPacks | undefined;
  const hasPacks = async ({ packs = [] }: Pick<PolicyFile, 'packs'>): Promise<boolean> => {
    if (site.packs) return site.packs.length > 0;
    if (packs.length > 0) return true;
    return !site.below && (await site.store.installations.list()).length > 0;
  };
  return {
    async follow(policy: Pick<PolicyFile, 'packs'>) {
      if (!loaded && site.lock !== 'frozen' && !(await hasPacks(policy))) return;
      loaded ??= import('./default-packs.ts').then((module) =>
        // What is only tried out is told to nobody.
        module.createDefaultPacks(site.packs ? site : { ...site, retooled: () => keepNames(site) }),
      );
      open = await loaded;
      site.names.recall(await site.store.toolNames.all());
      await open.follow(policy);
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
