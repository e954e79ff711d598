// Owns: what `move` means: an entry itself (a link stays a link), a file or a whole tree in one step.
// Refuses: a folder into itself, onto a folder that is not empty, and to carry away what policy hides from the call.
import type { BigIntStats } from 'node:fs';
import type { Edit, EntryState } from '../../../contract/capability.ts';
import { fail } from '../../../contract/errors.ts';
import { cannot, modeOf, notAFile, ownerIn, type Place, sameThing } from '../root.ts';
import { givable } from './ownership.ts';
import { planRemove, planRemoveTree, refuseRoot } from './plan-delete.ts';
import { planCopyTree, refuseIntoItself } from './plan-write.ts';
import type { Planning, Target } from './planning.ts';
import {
  admitBelow,
  alreadyThere,
  below,
  entriesOf,
  expectHash,
  notFound,
  parent,
  planFolders,
  planPut,
  record,
  target,
} from './planning.ts';
import { targetOf } from './preimage.ts';
import type { Look } from './view.ts';

export async function planMove(
  edit: Extract<Edit, { op: 'move' | 'copy' }>,
  planning: Planning,
): Promise<void> {
  // Who may not read a file may not move it to where they may.
  target(planning, edit.from, 'move', 'fs.read', 'keep');
  const from = target(planning, edit.from, 'move', 'fs.write', 'keep');
  const to = target(planning, edit.to, 'move', 'fs.write', 'keep');
  const seen = planning.view.look(from.place);
  if (seen.is === 'nothing') throw notFound(from.place, 'move');
  refuseRoot(from.place, 'move');
  refuseIntoItself(from.place, to.place, 'move');
  await expectHash(planning, from.place, seen, edit.expectedSha256, 'move');
  const there = planning.view.look(to.place);
  if (there.is !== 'nothing' && !edit.overwrite) throw alreadyThere(to.place, 'move to');
  refuseClash(planning, seen, to.place, there);
  planFolders(planning, to.place, 'move to', edit.createDirs ?? false);
  if (isSameFile(seen, there)) planRemove(planning, from.place, seen);
  else if (crossesFileSystems(planning, seen, to.place)) await planCarry(planning, from, to, seen, there);
  else if (seen.type === 'dir') await planRenameTree(planning, from, to, seen, there);
  else await planRename(planning, from.place, to.place, seen, there);
}

function refuseClash(planning: Planning, seen: Look, to: Place, there: Look): void {
  if (there.is === 'nothing') return;
  const attempt = { ...to, verb: 'move to' };
  if (there.type === 'other') throw notAFile(attempt, false);
  if (there.type !== 'dir') {
    if (seen.type !== 'dir') return;
    throw fail(
      'path.not_directory',
      `${cannot(attempt)}: it is not a directory, and a directory would replace it`,
    );
  }
  if (seen.type !== 'dir') throw notAFile(attempt, true);
  if (!planning.view.isEmptyFolder(to))
    throw fail('path.not_empty', `${cannot(attempt)}: the folder there is not empty`);
}

/** Renaming one name of a file to another of its names would do nothing. */
function isSameFile(seen: Look, there: Look): boolean {
  return (
    seen.is === 'disk' && there.is === 'disk' && seen.type === 'file' && sameThing(seen.stat, there.stat)
  );
}

function crossesFileSystems(planning: Planning, seen: Look, to: Place): boolean {
  let at = parent(to);
  while (planning.view.look(at).is === 'planned') at = parent(at);
  const folder = planning.view.look(at);
  return seen.is === 'disk' && folder.is === 'disk' && folder.stat.dev !== seen.stat.dev;
}

/** A file or link. Its content does not change, so only what it replaces needs a pre-image. */
export async function planRename(planning: Planning, from: Place, to: Place, seen: Look, there: Look) {
  if (seen.type === 'link') planning.protectedPlaces.refuseLink(to, 'move to');
  const state = await stateOf(planning, from, seen);
  const content = seen.is === 'planned' && seen.content ? { content: seen.content } : {};
  pushRename(planning, from, to, seen, there, state);
  planning.view.set(to, { type: seen.type!, state, ...content });
}

async function planRenameTree(planning: Planning, from: Target, to: Target, seen: Look, there: Look) {
  const { entries, fingerprint } = await entriesOf(planning, from.place, 'move');
  for (const { rel, type } of entries) {
    admitBelow(planning, 'fs.read', from, rel);
    admitBelow(planning, 'fs.write', from, rel);
    admitBelow(planning, 'fs.write', to, rel);
    if (type === 'link') planning.protectedPlaces.refuseLink(below(to.place, rel), 'move to');
  }
  pushTreeRename(planning, from.place, to.place, seen, there, fingerprint);
}

export function pushTreeRename(
  planning: Planning,
  from: Place,
  to: Place,
  seen: Look,
  there: Look,
  fingerprint: string,
): void {
  const mode = modeOf((seen as { stat: BigIntStats }).stat);
  pushRename(planning, from, to, seen, there, () => ({ type: 'dir', mode }), fingerprint);
  planning.view.seal(to);
}

function pushRename(
  planning: Planning,
  from: Place,
  to: Place,
  seen: Look,
  there: Look,
  after: () => EntryState | undefined,
  fingerprint?: string,
): void {
  const before = planning.preImages.take(to, there);
  const expected = (look: Look) => (look.is === 'disk' ? look.stat : look.is);
  planning.steps.push({
    do: 'rename',
    place: to,
    from,
    expectedFrom: expected(seen),
    expected: expected(there),
    ...(there.is === 'disk' && there.type === 'dir'
      ? { replacesFolder: { mode: modeOf(there.stat), owner: ownerIn(there.stat) } }
      : {}),
  });
  planning.view.set(from, null);
  record(planning, { place: to, before, after, movedFrom: from, ...(fingerprint ? { fingerprint } : {}) });
}

async function stateOf(planning: Planning, place: Place, seen: Look): Promise<() => EntryState | undefined> {
  if (seen.is === 'planned') return seen.state;
  if (seen.is !== 'disk') throw notFound(place, 'move');
  if (seen.type === 'link') {
    const state: EntryState = { type: 'link', target: targetOf(place, 'move') };
    return () => state;
  }
  if (seen.type !== 'file') throw notAFile({ ...place, verb: 'move' }, seen.type === 'dir');
  const object = await planning.preImages.hash(place, seen.stat);
  const state: EntryState = { type: 'file', object, size: Number(seen.stat.size), mode: modeOf(seen.stat) };
  return () => state;
}

/** To another file system: copied there, then removed here. */
async function planCarry(
  planning: Planning,
  from: Target,
  to: Target,
  seen: Look,
  there: Look,
): Promise<void> {
  if (seen.type === 'dir') {
    await planCopyTree(planning, from, to, 'restore', seen);
    await planRemoveTree(planning, from, seen);
    return;
  }
  if (seen.is !== 'disk' || seen.type === 'other') throw notAFile({ ...from.place, verb: 'move' }, false);
  const content =
    seen.type === 'link' ? { target: targetOf(from.place, 'move') } : { copyOf: from.place, stat: seen.stat };
  const had = { mode: modeOf(seen.stat), ...ownerIn(seen.stat) };
  const given = givable(had, to.place, planning.losses, 'restore');
  planPut(planning, there, { place: to.place, content, ...given });
  planRemove(planning, from.place, seen);
}
