// Owns: what `packs:` of haft.yaml names, each with its kind, its name and its config.
// Refuses: two packs of one name, and an entry that says no kind or two.

import { basename } from 'node:path';
import { isRecord } from '../../base/is-record.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { PolicyFile } from '../../contract/policy.ts';

/** How a pack is described: by the folder it lies in, or by the server that it is. */
export type PackKind = 'path' | 'mcp' | 'stdio';

export interface PackEntry {
  readonly kind: PackKind;
  /** `[a-z][a-z0-9_]*`. What ids of a server's tools begin with. */
  readonly name: string;
  /** Of a pack in a folder: relative to haft.yaml. */
  readonly path?: string;
  readonly config: JsonObject;
  readonly enabled: boolean;
}

const KINDS: readonly PackKind[] = ['path', 'mcp', 'stdio'];
const NAME = /^[a-z][a-z0-9_]*$/;

/** What is wrong with one entry, by its place in `packs:`. */
export interface EntryProblem {
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
  if (kind === 'path') {
    if (typeof description !== 'string') throw refuse('path is the folder of the pack');
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
