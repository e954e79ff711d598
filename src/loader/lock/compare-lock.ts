// Owns: how what is there now differs from what was accepted, and which tools may not be called until a person looked.
// Refuses: to read or write anything; both sides are given.
import { isRecord } from '../../base/is-record.ts';
import type { Json } from '../../contract/json.ts';
import type { Drift, FieldChange, LockedTool, LockFile } from '../../contract/lock.ts';

/** Packs first, then tools, each by name. Empty where nothing differs. */
export function compareLock(accepted: LockFile, current: LockFile): readonly Drift[] {
  const { packs, tools } = current;
  const packDrifts = namesOf(accepted.packs, packs).flatMap((pack): Drift[] => {
    const [before, after] = [own(accepted.packs, pack), own(packs, pack)];
    if (!before) return [{ pack, state: 'unlocked', changes: [] }];
    if (!after) return [{ pack, state: 'removed', changes: [] }];
    const changes = valueChanges({ ...before }, { ...after });
    return changes.length === 0 ? [] : [{ pack, state: 'changed', changes }];
  });
  const toolDrifts = namesOf(accepted.tools, tools).flatMap((tool): Drift[] => {
    const [before, after] = [own(accepted.tools, tool), own(tools, tool)];
    if (!after) return before ? [{ pack: before.pack, tool, state: 'removed', changes: [] }] : [];
    const { pack } = after;
    if (!before)
      return [{ pack, tool, state: own(accepted.packs, pack) ? 'added' : 'unlocked', changes: [] }];
    if (before.digest === after.digest && before.pack === pack) return [];
    return [{ pack, tool, state: 'changed', changes: toolChanges(before, after) }];
  });
  return [...packDrifts, ...toolDrifts];
}

/** What upstream may have slipped in: it is not callable until a person accepts it. */
export function isQuarantined({ tool, state }: Drift): boolean {
  return tool !== undefined && (state === 'changed' || state === 'added');
}

/** haft.lock was written before the code of such a tool was pinned, and all that it does hold is the same. */
export function isCodeUnpinned({ state, changes }: Drift): boolean {
  return (
    state === 'changed' &&
    changes.length > 0 &&
    changes.every(({ field, before }) => (field === 'code' || field === 'files') && before === undefined)
  );
}

/** Fields of the definition as they are called there; a pin beside it by its own name. */
function toolChanges(before: LockedTool, after: LockedTool): readonly FieldChange[] {
  const flat = ({ definition, digest: _, source: __, ...pins }: LockedTool) => ({ ...definition, ...pins });
  const changes = valueChanges(flat(before), flat(after));
  // Somebody edited the file by hand, or merged two of them: the digest is what counts.
  return changes.length > 0 ? changes : [{ field: 'digest', before: before.digest, after: after.digest }];
}

const namesOf = (a: object, b: object): string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();

const own = <T>(map: { readonly [name: string]: T }, name: string): T | undefined =>
  Object.hasOwn(map, name) ? map[name] : undefined;

/** Which fields differ, as deep down as they differ, by name; never into lists: what moved in one and what changed cannot be told apart. */
export function valueChanges(before: Json | undefined, after: Json | undefined, field = ''): FieldChange[] {
  if (before === after) return [];
  if (isRecord(before) && isRecord(after)) {
    return namesOf(before, after).flatMap((name) =>
      valueChanges(own(before, name), own(after, name), step(field, name)),
    );
  }
  if (Array.isArray(before) && Array.isArray(after) && isSameList(before, after)) return [];
  return [{ field, before, after }];
}

const isSameList = (a: readonly Json[], b: readonly Json[]): boolean =>
  a.length === b.length && a.every((one, at) => valueChanges(one, b[at]).length === 0);

/** `input.properties.path`; a name that is no word is quoted: `files["src/run.py"]`. */
function step(field: string, name: string): string {
  if (!/^[A-Za-z_$][\w$-]*$/.test(name)) return `${field}[${JSON.stringify(name)}]`;
  return field === '' ? name : `${field}.${name}`;
}
