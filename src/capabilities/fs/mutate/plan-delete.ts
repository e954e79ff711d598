// Owns: what `delete` means: an entry itself, never what a link points at; a folder with all below it when asked.
// Refuses: a root, and special files, whose kind no record could bring back.
import type { BigIntStats } from 'node:fs';
import type { Edit } from '../../../contract/capability.ts';
import { fail, isFailure } from '../../../contract/errors.ts';
import { cannot, modeOf, notAFile, ownerIn, type Place } from '../root.ts';
import type { Planning, Target } from './planning.ts';
import {
  admitBelow,
  below,
  entriesOf,
  expectHash,
  NEW_FOLDER,
  notFound,
  record,
  target,
} from './planning.ts';
import type { Look } from './view.ts';

export async function planDelete(edit: Extract<Edit, { op: 'delete' }>, planning: Planning): Promise<void> {
  const found = findTarget(edit, planning);
  const seen = found ? planning.view.look(found.place) : undefined;
  if (!found || !seen || seen.is === 'nothing') {
    if (edit.force && edit.expectedSha256 === undefined) return;
    throw notFound(found?.place ?? { root: planning.root, rel: edit.path }, 'delete');
  }
  const { place } = found;
  refuseRoot(place, 'delete');
  await expectHash(planning, place, seen, edit.expectedSha256, 'delete');
  if (seen.type !== 'dir') planRemove(planning, place, seen);
  else if (edit.recursive && !planning.view.isEmptyFolder(place)) await planRemoveTree(planning, found, seen);
  else planRemoveFolder(planning, place, seen);
}

/** A path through something that is no folder names nothing. */
function findTarget(edit: Extract<Edit, { op: 'delete' }>, planning: Planning): Target | undefined {
  try {
    return target(planning, edit.path, 'delete', 'fs.write', 'keep');
  } catch (thrown) {
    if (isFailure(thrown) && thrown.reason === 'path.not_directory') return undefined;
    throw thrown;
  }
}

export function refuseRoot(place: Place, verb: string): void {
  if (place.rel !== '.') return;
  throw fail('path.protected', `${cannot({ ...place, verb })}: it is the workspace itself`);
}

/** A file or link. */
export function planRemove(planning: Planning, place: Place, seen: Look): void {
  if (seen.type === 'other') throw notAFile({ ...place, verb: 'delete' }, false);
  const before = planning.preImages.take(place, seen);
  planning.steps.push({ do: 'remove', place, expected: seen.is === 'disk' ? seen.stat : seen.is });
  planning.view.set(place, null);
  record(planning, { place, before, after: () => null });
}

/** A folder that is, or will be by then, empty. */
export function planRemoveFolder(planning: Planning, place: Place, seen: Look): void {
  if (!planning.view.isEmptyFolder(place)) {
    throw fail(
      'path.not_empty',
      `${cannot({ ...place, verb: 'delete' })}: the folder is not empty (recursive would delete it all)`,
    );
  }
  const before = planning.preImages.take(place, seen);
  const given =
    seen.is === 'disk' ? { mode: modeOf(seen.stat), owner: ownerIn(seen.stat) } : { mode: NEW_FOLDER };
  planning.steps.push({ do: 'removeFolder', place, ...given });
  planning.view.set(place, null);
  record(planning, { place, before, after: () => null });
}

/** One step, so that the tree goes as a whole; one change for each entry, so that it can come back. */
export async function planRemoveTree(planning: Planning, top: Target, seen: Look): Promise<void> {
  const { entries, fingerprint } = await entriesOf(planning, top.place, 'delete');
  for (const { rel, type } of entries) {
    if (type === 'other') throw notAFile({ ...below(top.place, rel), verb: 'delete' }, false);
    admitBelow(planning, 'fs.write', top, rel);
  }
  planning.steps.push({
    do: 'remove',
    place: top.place,
    expected: (seen as { stat: BigIntStats }).stat,
    fingerprint,
  });
  for (const { rel, type, stat } of entries.toReversed()) {
    const place = below(top.place, rel);
    record(planning, {
      place,
      before: planning.preImages.take(place, { is: 'disk', type, stat }),
      after: () => null,
    });
    planning.view.set(place, null);
  }
  record(planning, { place: top.place, before: planning.preImages.take(top.place, seen), after: () => null });
  planning.view.set(top.place, null);
}
