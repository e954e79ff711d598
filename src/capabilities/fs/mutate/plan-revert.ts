// Owns: what `revert` means: an entry that is still as a change left it becomes what it was before.
// Refuses: to destroy work that came after, and to bring back bytes that were not kept.
import type { Change, Edit, EntryState } from '../../../contract/capability.ts';
import { fail } from '../../../contract/errors.ts';
import { cannot, nameOf, type Place } from '../root.ts';
import { givable } from './ownership.ts';
import { planRemove, planRemoveFolder } from './plan-delete.ts';
import { planRename, pushTreeRename } from './plan-move.ts';
import type { Planning, Target } from './planning.ts';
import { admitBelow, entriesOf, planFolder, planFolders, planPut, target } from './planning.ts';
import { targetOf } from './preimage.ts';
import type { Look } from './view.ts';

export async function planRevert(edit: Extract<Edit, { op: 'revert' }>, planning: Planning): Promise<void> {
  const { change } = edit;
  const at = exactTarget(planning, change.path);
  const seen = planning.view.look(at.place);
  if (change.movedFrom !== undefined) {
    await planMoveBack(planning, change, at, seen);
    return;
  }
  // A call that was cut short may not have come this far.
  if (await isState(planning, at.place, seen, change.before)) return;
  if (!(await isState(planning, at.place, seen, change.after))) throw conflict(at.place);
  await planRestore(planning, change, at.place, seen);
}

/** The place that was recorded, not one that a link at it leads to. */
function exactTarget(planning: Planning, path: string): Target {
  return target(planning, path, 'undo', 'fs.write', 'keep');
}

async function planMoveBack(planning: Planning, change: Change, at: Target, seen: Look): Promise<void> {
  const home = exactTarget(planning, change.movedFrom!);
  const there = planning.view.look(home.place);
  if (there.is !== 'nothing') {
    if (
      (await isState(planning, at.place, seen, change.before)) &&
      (await isMoved(planning, home, there, change))
    )
      return;
    throw conflict(home.place);
  }
  if (!(await isMoved(planning, at, seen, change))) throw conflict(at.place);
  planFolders(planning, home.place, 'undo', true);
  if (change.fingerprint === undefined) {
    await planRename(planning, at.place, home.place, seen, there);
  } else {
    pushTreeRename(planning, at.place, home.place, seen, there, change.fingerprint);
  }
  await planRestore(planning, change, at.place, { is: 'nothing' });
}

/** Whether what is here is the thing that moved, untouched. */
async function isMoved(planning: Planning, at: Target, seen: Look, change: Change): Promise<boolean> {
  if (change.fingerprint === undefined) return isState(planning, at.place, seen, change.after);
  if (seen.is !== 'disk' || seen.type !== 'dir') return false;
  const { entries, fingerprint } = await entriesOf(planning, at.place, 'undo');
  for (const { rel } of entries) admitBelow(planning, 'fs.write', at, rel);
  return fingerprint === change.fingerprint;
}

async function isState(
  planning: Planning,
  place: Place,
  seen: Look,
  state: EntryState | null,
): Promise<boolean> {
  if (state === null || seen.is === 'nothing') return state === null && seen.is === 'nothing';
  if (seen.type !== state.type) return false;
  if (state.type === 'dir') return true;
  if (seen.is === 'planned') return sameState(seen.state(), state);
  if (state.type === 'link') return targetOf(place, 'undo') === state.target;
  if (Number(seen.stat.size) !== state.size || Number(seen.stat.mode & 0o7777n) !== state.mode) return false;
  return (await planning.preImages.hash(place, seen.stat)) === state.object;
}

function sameState(a: EntryState | undefined, b: EntryState): boolean {
  if (a?.type === 'file' && b.type === 'file') return a.object === b.object && a.mode === b.mode;
  return a?.type === 'link' && b.type === 'link' && a.target === b.target;
}

/** What is at `place` was checked; it becomes `change.before`. */
async function planRestore(planning: Planning, change: Change, place: Place, seen: Look): Promise<void> {
  const { before } = change;
  if (before === null) {
    if (seen.is === 'nothing') return;
    if (seen.type === 'dir') planRemoveUnlessUsed(planning, place, seen);
    else planRemove(planning, place, seen);
    return;
  }
  if (before.type === 'dir') {
    if (seen.type === 'dir') return;
    planFolders(planning, place, 'undo', true);
    planFolder(planning, place, givable(before, place, planning.losses, 'restore'), true);
    return;
  }
  if (!change.stored || !(await isKept(planning, before)))
    throw fail('object.missing', `${cannot({ ...place, verb: 'undo' })}: its earlier content was not kept`);
  planFolders(planning, place, 'undo', true);
  const content =
    before.type === 'link' ? { target: before.target } : { object: before.object, size: before.size };
  const had = before.type === 'link' ? { ...before, mode: 0o777 } : before;
  planPut(planning, seen, { place, content, ...givable(had, place, planning.losses, 'restore') });
}

async function isKept({ scope }: Planning, state: EntryState): Promise<boolean> {
  if (state.type !== 'file') return true;
  // A lease first: whoever cleans up meanwhile leaves it alone.
  await scope.objects.touch([state.object]);
  return (await scope.objects.size(state.object)) !== undefined;
}

/** A folder that others use by now stays: taking it away would destroy their work, leaving it destroys nothing. */
function planRemoveUnlessUsed(planning: Planning, place: Place, seen: Look): void {
  if (planning.view.isEmptyFolder(place)) {
    planRemoveFolder(planning, place, seen);
    return;
  }
  const name = nameOf(place.root, place.rel);
  planning.scope.warn({
    reason: 'undo.conflict',
    message: `Left the folder "${name}": there is something in it by now`,
  });
}

function conflict(place: Place) {
  return fail('undo.conflict', `${cannot({ ...place, verb: 'undo' })}: it was changed since`);
}
