// Owns: why a tool of a pack that is not opened cannot be called: who disabled the pack, and what enables it.
// Refuses: to open such a pack: of a server only its name is known, of a folder its manifests are read.
import { type Failure, fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { LoadedPolicy } from '../../contract/policy.ts';
import type { ToolNames } from '../../contract/runtime.ts';
import type { Store } from '../../contract/store.ts';
import { readLockFile } from '../../loader/lock/lock-file.ts';
import { packEntries } from './pack-entries.ts';
import type { PackEntry } from './pack-source.ts';
import { sourceOf } from './sources/index.ts';

export interface ClosedSite {
  readonly root: string;
  readonly policy: LoadedPolicy;
  readonly store: Pick<Store, 'installations' | 'toolNames'>;
  readonly names: ToolNames;
}

interface ClosedPack {
  readonly entry: PackEntry;
  /** Who closed it, and what opens it. */
  readonly fact: string;
  readonly fix: string;
}

/** Undefined where no pack that is closed has such a tool, as far as anybody can tell. `asked` is its id, or its name over MCP. */
export async function explainClosed(asked: string, site: ClosedSite): Promise<Failure | undefined> {
  const packs = await closedPacks(site);
  if (packs.length === 0) return undefined;
  site.names.recall(await site.store.toolNames.all());
  const ids = [...new Set([site.names.ownerOf(asked) ?? asked, asked])];
  const shown = asked.length > 80 ? `${asked.slice(0, 80)}…` : asked;
  for (const { entry, fact, fix } of packs)
    if (await hasTool(entry, ids, site))
      return fail('tool.disabled', `Cannot call "${shown}": its pack "${entry.name}" ${fact}; ${fix}`, {
        pack: entry.name,
      });
  return undefined;
}

async function closedPacks({ policy, store }: ClosedSite): Promise<readonly ClosedPack[]> {
  const records = await store.installations.list();
  const disabled = new Set(records.filter(({ enabled }) => !enabled).map(({ name }) => name));
  const outer = policy.outer?.[0]?.name;
  const closed: ClosedPack[] = [];
  const written = entriesOf(policy.file.packs ?? []);
  for (const entry of written)
    if (!entry.enabled)
      closed.push({ entry, fact: 'is disabled: haft.yaml says enabled: false', fix: 'change it there' });
    else if (disabled.has(entry.name)) closed.push(byHand(entry));
  for (const { pack, by } of policy.unnamed ?? [])
    for (const entry of entriesOf([pack]))
      closed.push({
        entry,
        fact: `is disabled: ${by} holds here as well, and does not name it`,
        fix: `name it in ${by} too`,
      });
  const named = new Set([...written, ...closed.map(({ entry }) => entry)].map(({ name }) => name));
  for (const { name, entry: added, enabled } of records)
    for (const entry of added && !named.has(name) ? entriesOf([{ ...added, name }]) : [])
      if (!enabled) closed.push(byHand(entry));
      else if (outer !== undefined)
        closed.push({
          entry,
          fact: `is disabled: it was added here, and ${outer} holds here as well`,
          fix: 'name the pack in both',
        });
  return closed;
}

const byHand = (entry: PackEntry): ClosedPack => ({
  entry,
  fact: 'is disabled, by haft tools disable',
  fix: `haft tools enable ${entry.name} enables it`,
});

/** What cannot be understood is told by whoever opens packs. */
function entriesOf(packs: readonly (string | JsonObject)[]): readonly PackEntry[] {
  try {
    return packEntries({ packs });
  } catch {
    return [];
  }
}

/** Ids of servers begin with the name of their pack; those of a folder are what was accepted of it, or what its files say. */
async function hasTool(entry: PackEntry, ids: readonly string[], site: ClosedSite): Promise<boolean> {
  const { name } = entry;
  if (ids.some((id) => id === name || id.startsWith(`${name}.`) || id.startsWith(`${name}-`))) return true;
  if (ids.some((id) => pinnedIn(id, site.root) === name)) return true;
  const { hasTool: has } = sourceOf(entry, site.root);
  return (await has?.(entry, ids, { root: site.root, nameOf: (id) => site.names.nameOf(id) })) ?? false;
}

function pinnedIn(id: string, root: string): string | undefined {
  try {
    const { tools = {} } = readLockFile(root) ?? {};
    return Object.hasOwn(tools, id) ? tools[id]?.pack : undefined;
  } catch {
    return undefined;
  }
}
