// Owns: the packs of a workspace as entries: what `packs:` of haft.yaml names, without what was disabled, and what was added beside it.
// Refuses: two packs of one name, an entry that says no kind or two, and what was added in the place of what haft.yaml names.
import { basename } from 'node:path';
import { isRecord } from '../../base/is-record.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { PackListing } from '../../contract/operation-handles.ts';
import type { PolicyFile } from '../../contract/policy.ts';
import type { InstallationRecord } from '../../contract/store.ts';
import type { PackEntry } from './pack-source.ts';
import { PACK_SOURCES } from './sources/index.ts';

const KINDS: readonly string[] = [...new Set(PACK_SOURCES.map(({ key }) => key))];
const NAME = /^[a-z][a-z0-9_]*$/;

/** What is wrong with one entry, by its place in `packs:`. */
interface EntryProblem {
  readonly at: number;
  readonly message: string;
}

const cannotTake = (at: number): string => `Cannot take packs[${at}] of haft.yaml`;

type Written = NonNullable<PolicyFile['packs']>;

/** Throws `pack.invalid` with all that is wrong. `cannot` begins what is said of an entry. */
export function packEntries(
  { packs = [] }: Pick<PolicyFile, 'packs'>,
  cannot = cannotTake,
): readonly PackEntry[] {
  const { entries, problems } = readEntries(packs, cannot);
  if (problems.length > 0) throw fail('pack.invalid', problems.map(({ message }) => message).join('\n'));
  return entries.filter((entry) => entry !== undefined);
}

/** Each in its place; undefined for one that is wrong, which says nothing about the others. */
export function readEntries(
  packs: Written,
  cannot = cannotTake,
): {
  readonly entries: readonly (PackEntry | undefined)[];
  readonly problems: readonly EntryProblem[];
} {
  const problems: EntryProblem[] = [];
  const taken = new Set<string>();
  const entries = packs.map((pack, at) => {
    try {
      const entry = entryOf(typeof pack === 'string' ? { path: pack } : pack, cannot(at));
      const { name } = entry;
      if (taken.has(name))
        throw fail(
          'pack.invalid',
          `Cannot take two packs of the name "${name}": give one of them another name`,
        );
      taken.add(name);
      return entry;
    } catch (thrown) {
      if (!isFailure(thrown)) throw thrown;
      problems.push({ at, message: thrown.message });
      return undefined;
    }
  });
  return { entries, problems };
}

/** What it is lies in a folder, and may change there while a host runs. */
export const isFolder = ({ kind }: Pick<PackEntry, 'kind'>): boolean =>
  PACK_SOURCES.some(({ key, folder }) => key === kind && folder === true);

function entryOf(pack: JsonObject, cannot: string): PackEntry {
  const refuse = (fact: string) => fail('pack.invalid', `${cannot}: ${fact}`);
  const kinds = KINDS.filter((kind) => kind in pack);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) throw refuse(`it has to say one of ${KINDS.join(', ')}`);
  const { name: given, enabled = true, config = {} } = pack;
  const description = pack[kind];
  const unknown = Object.keys(pack).find((key) => !['name', 'enabled', 'config', kind].includes(key));
  if (unknown !== undefined) throw refuse(`"${unknown.slice(0, 80)}" is no key of a pack`);
  if (typeof enabled !== 'boolean') throw refuse('enabled is true or false');
  const name = given ?? (typeof description === 'string' ? nameOf(description) : undefined);
  if (typeof name !== 'string' || !NAME.test(name))
    throw refuse('it needs a name of small letters, digits and _, which the ids of its tools begin with');
  if (isFolder({ kind })) {
    if (typeof description !== 'string') throw refuse(`${kind} is the folder of the pack`);
    if (!isRecord(config)) throw refuse('config is a map');
    return { kind, name, path: description, config, enabled };
  }
  if ('config' in pack) throw refuse(`what a server needs is said under ${kind}`);
  if (!isRecord(description)) throw refuse(`${kind} is a map`);
  return { kind, name, config: description, enabled };
}

/** Of a folder: `./my-packs` is `my_packs`. */
function nameOf(path: string): string {
  const name = basename(path)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]/g, '_');
  return /^[a-z]/.test(name) ? name : `pack_${name}`;
}

type Pack = NonNullable<PolicyFile['packs']>[number];

/** In the form of `packs:`. What is kept for a pack that haft.yaml names can disable it, and nothing else. */
export function installedPacks(
  written: readonly Pack[],
  records: readonly InstallationRecord[],
): readonly Pack[] {
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

/** By name; without those that cannot be read. */
export function knownPacks(
  written: readonly Pack[],
  records: readonly InstallationRecord[],
): readonly PackListing[] {
  const named = new Set(readEntries(written).entries.map((entry) => entry?.name));
  return readEntries(installedPacks(written, records))
    .entries.filter((entry) => entry !== undefined)
    .map(({ name, kind, enabled, path, config }) => {
      const from: PackListing['from'] = named.has(name) ? 'haft.yaml' : 'added';
      return { name, kind, from, enabled, ...(path === undefined ? {} : { path }), config };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
