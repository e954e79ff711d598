// Owns: what `write` means: a file's whole content, through links inside of the workspace.
// Refuses: folders and special files, and versions that the caller did not expect.
import type { Edit } from '../../../contract/capability.ts';
import { modeOf, ownerIn } from '../located.ts';
import { notAFile } from '../path-failures.ts';
import { expectHash } from './expect-hash.ts';
import { loseSetId } from './ownership.ts';
import { alreadyThere, type Planning, planFolders, planPut, target } from './planning.ts';
import type { Look } from './view.ts';

const NEW_FILE = 0o644;

export async function planWrite(edit: Extract<Edit, { op: 'write' }>, planning: Planning): Promise<void> {
  const { place, stat } = target(planning, edit.path, 'write', 'fs.write', 'follow');
  const seen = planning.view.look(place, stat);
  if (seen.is !== 'nothing' && edit.mustCreate) throw alreadyThere(place, 'write');
  if (seen.is !== 'nothing' && seen.type !== 'file') {
    throw notAFile({ ...place, verb: 'write' }, seen.type === 'dir');
  }
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
export function keptMode(seen: Look): number | undefined {
  if (seen.is === 'disk' && seen.type === 'file') return modeOf(seen.stat) & 0o777;
  if (seen.is !== 'planned') return undefined;
  const state = seen.state();
  return state?.type === 'file' ? state.mode : undefined;
}

export function ownerOf(seen: Look): { uid: number; gid: number } | undefined {
  if (seen.is !== 'disk') return undefined;
  return ownerIn(seen.stat);
}
