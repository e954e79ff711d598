// Owns: what `write` means (a file's whole content, through links inside of the workspace) and what `copy` does: what a link leads to at
// the top, links as links below; onto a folder it merges.
// Refuses: a folder into itself, special files, versions that the caller did not expect, and entries that policy does not let the
// call read or write.
import { isUnder } from '../../../base/rel-path.ts';
import type { Edit } from '../../../contract/capability.ts';
import { fail } from '../../../contract/errors.ts';
import { cannot, modeOf, nameOf, notAFile, ownerIn, type Place } from '../root.ts';
import { givable, type Had, loseSetId } from './ownership.ts';
import type { Planning, Target } from './planning.ts';
import {
  admitBelow,
  alreadyThere,
  below,
  entriesOf,
  expectHash,
  NEW_FOLDER,
  notFound,
  planFolder,
  planFolders,
  planPut,
  target,
} from './planning.ts';
import type { Content, Look } from './view.ts';

type CopyEdit = Extract<Edit, { op: 'move' | 'copy' }>;

export async function planCopy(edit: CopyEdit, planning: Planning): Promise<void> {
  const from = target(planning, edit.from, 'copy', 'fs.read', 'follow');
  const to = target(planning, edit.to, 'copy', 'fs.write', 'keep');
  const seen = planning.view.look(from.place);
  if (seen.is === 'nothing') throw notFound(from.place, 'copy');
  refuseIntoItself(from.place, to.place, 'copy');
  await expectHash(planning, from.place, seen, edit.expectedSha256, 'copy');
  if (planning.view.look(to.place).is !== 'nothing' && !edit.overwrite)
    throw alreadyThere(to.place, 'copy to');
  planFolders(planning, to.place, 'copy to', edit.createDirs ?? false);
  const preserve = edit.preserveMode ? 'copy' : undefined;
  if (seen.type === 'dir') await planCopyTree(planning, from, to, preserve, seen);
  else planCopyEntry(planning, from.place, to.place, preserve, seen);
}

export function refuseIntoItself(from: Place, to: Place, verb: string): void {
  const [source, destination] = [nameOf(from.root, from.rel), nameOf(to.root, to.rel)];
  if (!isUnder(destination, source)) return;
  const fact =
    source === destination ? 'source and destination are the same' : 'the destination lies inside of it';
  throw fail('path.invalid', `${cannot({ ...from, verb })}: ${fact}`);
}

/** Also what moves a tree to another file system, where it cannot be renamed. */
export async function planCopyTree(
  planning: Planning,
  from: Target,
  to: Target,
  preserve: 'copy' | 'restore' | undefined,
  seen: Look,
): Promise<void> {
  const { entries } = await entriesOf(planning, from.place, 'copy');
  planCopyEntry(planning, from.place, to.place, preserve, seen);
  for (const { rel, type, stat, target } of entries) {
    admitBelow(planning, 'fs.read', from, rel);
    admitBelow(planning, 'fs.write', to, rel);
    const content = target === undefined ? undefined : { target };
    const [source, destination] = [below(from.place, rel), below(to.place, rel)];
    planCopyEntry(planning, source, destination, preserve, { is: 'disk', type, stat }, content);
  }
}

function planCopyEntry(
  planning: Planning,
  from: Place,
  to: Place,
  preserve: 'copy' | 'restore' | undefined,
  seen: Look,
  content = contentOf(seen, from),
): void {
  const there = planning.view.look(to);
  if (seen.type === 'dir') {
    if (there.type === 'dir') return;
    if (there.is !== 'nothing') {
      throw fail(
        'path.not_directory',
        `${cannot({ root: to.root, rel: to.rel, verb: 'copy to' })}: it is not a directory`,
      );
    }
    if (preserve) planFolder(planning, to, givable(hadBy(seen), to, planning.losses, preserve), true);
    else planFolder(planning, to, { mode: NEW_FOLDER }, false);
    return;
  }
  if (!content) throw notAFile({ ...from, verb: 'copy' }, false);
  if (there.is !== 'nothing' && there.type !== 'file' && there.type !== 'link')
    throw notAFile({ ...to, verb: 'copy to' }, there.type === 'dir');
  const owner = there.type === 'file' ? ownerOf(there) : undefined;
  const given = preserve
    ? givable(hadBy(seen), to, planning.losses, preserve)
    : { mode: keptMode(there) ?? 0o644 };
  planPut(planning, there, { place: to, content, ...(owner ? { owner } : {}), ...given });
}

function contentOf(seen: Look, from: Place): Content | undefined {
  if (seen.is === 'planned') return seen.content;
  return seen.is === 'disk' && seen.type === 'file' ? { copyOf: from, stat: seen.stat } : undefined;
}

function hadBy(seen: Look): Had {
  if (seen.is === 'disk') return { mode: modeOf(seen.stat), ...ownerIn(seen.stat) };
  const state = seen.is === 'planned' ? seen.state() : undefined;
  return { mode: state && 'mode' in state ? state.mode : 0o644 };
}

const NEW_FILE = 0o644;

export async function planWrite(edit: Extract<Edit, { op: 'write' }>, planning: Planning): Promise<void> {
  const { place, stat } = target(planning, edit.path, 'write', 'fs.write', 'follow');
  const seen = planning.view.look(place, stat);
  if (seen.is !== 'nothing' && edit.mustCreate) throw alreadyThere(place, 'write');
  if (seen.is !== 'nothing' && seen.type !== 'file')
    throw notAFile({ ...place, verb: 'write' }, seen.type === 'dir');
  await expectHash(planning, place, seen, edit.expectedSha256, 'write');
  planFolders(planning, place, 'write', edit.createDirs ?? false);
  const owner = ownerOf(seen);
  if (seen.is === 'disk') loseSetId(modeOf(seen.stat), place, planning.losses);
  planPut(planning, seen, {
    place,
    content: { bytes: edit.bytes },
    mode: edit.mode ?? keptMode(seen) ?? NEW_FILE,
    mustCreate: edit.mustCreate ?? false,
    ...(owner ? { owner } : {}),
  });
}

/** New content loses set-user-id and the like, as when it is written in place. */
function keptMode(seen: Look): number | undefined {
  if (seen.is === 'disk' && seen.type === 'file') return modeOf(seen.stat) & 0o777;
  if (seen.is !== 'planned') return undefined;
  const state = seen.state();
  return state?.type === 'file' ? state.mode : undefined;
}

function ownerOf(seen: Look): { uid: number; gid: number } | undefined {
  if (seen.is !== 'disk') return undefined;
  return ownerIn(seen.stat);
}
