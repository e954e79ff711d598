// Owns: the packs of a workspace: those of haft.yaml, without what was disabled, and those that were added beside it.
// Refuses: to let what was added take the place of what haft.yaml names.
import type { JsonObject } from '../../contract/json.ts';
import type { PolicyFile } from '../../contract/policy.ts';
import type { InstallationRecord } from '../../contract/store.ts';
import { type PackKind, readEntries } from './pack-entries.ts';

type Written = NonNullable<PolicyFile['packs']>[number];

/** In the form of `packs:`. What is kept for a pack that haft.yaml names can disable it, and nothing else. */
export function installedPacks(
  written: readonly Written[],
  records: readonly InstallationRecord[],
): readonly Written[] {
  if (records.length === 0) return written;
  const byName = new Map(records.map((record) => [record.name, record]));
  const named = readEntries(written).entries.map((entry, at) => {
    const pack = written[at]!;
    // One that is wrong is told by whoever opens packs.
    if (!entry) return pack;
    const record = byName.get(entry.name);
    byName.delete(entry.name);
    if (record?.enabled !== false) return pack;
    return { ...(typeof pack === 'string' ? { path: pack } : pack), enabled: false };
  });
  const added = [...byName.values()].flatMap(({ name, entry, enabled }): JsonObject[] =>
    entry ? [{ ...entry, name, enabled }] : [],
  );
  return [...named, ...added];
}

/** What a person is told of a pack. */
export interface KnownPack {
  readonly name: string;
  readonly kind: PackKind;
  readonly from: 'haft.yaml' | 'added';
  readonly enabled: boolean;
  /** Of a pack in a folder: relative to haft.yaml. */
  readonly path?: string;
  readonly config: JsonObject;
}

/** By name; without those that cannot be read. */
export function knownPacks(
  written: readonly Written[],
  records: readonly InstallationRecord[],
): readonly KnownPack[] {
  const named = new Set(readEntries(written).entries.map((entry) => entry?.name));
  return readEntries(installedPacks(written, records))
    .entries.filter((entry) => entry !== undefined)
    .map(({ name, kind, enabled, path, config }) => {
      const from: KnownPack['from'] = named.has(name) ? 'haft.yaml' : 'added';
      return { name, kind, from, enabled, ...(path === undefined ? {} : { path }), config };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
